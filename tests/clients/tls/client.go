// Go's driver: client LABEL VERSION PORT USER CA OTHER-CA
// VERSION: TLSv1.2 or TLSv1.3; or name, for a server at 127.0.0.2.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/go-sql-driver/mysql"
)

var label, version, port, user, ca, other = os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6]

func trust(file string) *tls.Config {
	pem, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		panic("no certificate in " + file)
	}
	only := map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}[version]
	return &tls.Config{RootCAs: roots, MinVersion: only, MaxVersion: only}
}

// Verifies who signed the certificate, not whose it is.
func anyName(config *tls.Config) *tls.Config {
	config.InsecureSkipVerify = true
	config.VerifyConnection = func(state tls.ConnectionState) error {
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: config.RootCAs})
		return err
	}
	return config
}

func logIn(host, password string, config *tls.Config) error {
	options := mysql.NewConfig()
	options.Net, options.Addr, options.User, options.Passwd, options.TLS = "tcp", host+":"+port, user, password, config
	connector, err := mysql.NewConnector(options)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var answer int
	if err := db.QueryRow("SELECT ? + 1", 41).Scan(&answer); err != nil {
		return err
	}
	var name, got string
	if err := db.QueryRow("SHOW STATUS LIKE 'Ssl_version'").Scan(&name, &got); err != nil {
		return err
	}
	if answer != 42 || version != "name" && got != version {
		return fmt.Errorf("it answers %d, by %s", answer, got)
	}
	return nil
}

func check(what string, good func(error) bool, err error) {
	if good(err) {
		fmt.Printf("ok %s: %s\n", label, what)
	} else {
		fmt.Printf("FAIL %s: %s: %v\n", label, what, err)
	}
}

func works(err error) bool { return err == nil }
func denied(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && e.Number == 1045
}
func authority(err error) bool { return errors.As(err, new(x509.UnknownAuthorityError)) }
func otherName(err error) bool { return errors.As(err, new(x509.HostnameError)) }

func main() {
	if version == "name" {
		check("another name, not verified", works, logIn("127.0.0.2", "pw", anyName(trust(ca))))
		check("another name is refused", otherName, logIn("127.0.0.2", "pw", trust(ca)))
		return
	}
	check(version+": first login, a query", works, logIn("localhost", "pw", trust(ca)))
	check(version+": second login", works, logIn("localhost", "pw", trust(ca)))
	check(version+": another authority", authority, logIn("localhost", "pw", trust(other)))
	check(version+": wrong password", denied, logIn("localhost", "wrong", trust(ca)))
	check(version+": an account that asks for TLS, without", denied, logIn("localhost", "pw", nil))
}
