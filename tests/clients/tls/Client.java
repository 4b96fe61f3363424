// MySQL's driver and MariaDB's: Client LABEL VERSION PORT USER CA OTHER-CA, the authorities as key stores
// VERSION: TLSv1.2 or TLSv1.3; or name, for a server at 127.0.0.2.

import java.security.cert.CertificateException;
import java.sql.*;
import java.util.function.Predicate;
import java.util.regex.Pattern;

public class Client {
    static String label, version, port, user;

    enum Verify { NOTHING, AUTHORITY, IDENTITY }

    static String url(String host, Verify verify, String store) {
        boolean mysql = label.endsWith("/mysql");
        String url = "jdbc:" + (mysql ? "mysql" : "mariadb") + "://" + host + ":" + port + "/?sslMode=" + switch (verify) {
            case NOTHING -> mysql ? "DISABLED" : "disable";
            case AUTHORITY -> mysql ? "VERIFY_CA" : "verify-ca";
            case IDENTITY -> mysql ? "VERIFY_IDENTITY" : "verify-full";
        };
        if (verify == Verify.NOTHING) {
            return url;
        }
        url += "&fallbackToSystemTrustStore=false" + (mysql
            ? "&trustCertificateKeyStoreUrl=file:" + store + "&trustCertificateKeyStorePassword=changeit"
            : "&trustStore=file:" + store + "&trustStorePassword=changeit");
        return version.equals("name") ? url : url + (mysql ? "&tlsVersions=" : "&enabledSslProtocolSuites=") + version;
    }

    static void logIn(String url, String password) throws Exception {
        try (Connection c = DriverManager.getConnection(url, user, password);
            PreparedStatement s = c.prepareStatement("SELECT ? + 1")) {
            s.setInt(1, 41);
            ResultSet answer = s.executeQuery();
            answer.next();
            ResultSet status = c.createStatement().executeQuery("SHOW STATUS LIKE 'Ssl_version'");
            status.next();
            if (answer.getInt(1) != 42 || !version.equals("name") && !version.equals(status.getString(2))) {
                throw new IllegalStateException("it answers " + answer.getInt(1) + ", by " + status.getString(2));
            }
        }
    }

    static void check(String what, Predicate<Throwable> good, String url, String password) {
        Throwable got = null;
        try {
            logIn(url, password);
        } catch (Exception e) {
            got = e;
        }
        boolean ok = good.test(got);
        System.out.print((ok ? "ok " : "FAIL ") + label + ": " + what);
        for (Throwable e = got; !ok && e != null; e = e.getCause()) {
            System.out.print(": " + e.toString().replaceAll("\\s+", " "));
        }
        System.out.println();
    }

    // Whether what went wrong, or what is behind it, is of that kind and says so.
    static Predicate<Throwable> behind(Class<?> kind, String text) {
        return got -> {
            for (Throwable e = got; e != null; e = e.getCause()) {
                if (kind.isInstance(e) && Pattern.compile(text).matcher(e.getMessage()).find()) {
                    return true;
                }
            }
            return false;
        };
    }

    public static void main(String[] args) {
        label = args[0];
        version = args[1];
        port = args[2];
        user = args[3];
        Predicate<Throwable> works = e -> e == null, denied = e -> e instanceof SQLException s && s.getErrorCode() == 1045;
        String verified = url("localhost", Verify.IDENTITY, args[4]);
        if (version.equals("name")) {
            check("another name, not verified", works, url("127.0.0.2", Verify.AUTHORITY, args[4]), "pw");
            Predicate<Throwable> name = behind(label.endsWith("/mysql") ? CertificateException.class : SQLException.class,
                "[Hh]ost ?name.*127.0.0.2");
            check("another name is refused", name, url("127.0.0.2", Verify.IDENTITY, args[4]), "pw");
            return;
        }
        check(version + ": first login, a query", works, verified, "pw");
        check(version + ": second login", works, verified, "pw");
        Predicate<Throwable> authority = behind(CertificateException.class, "Path does not chain|unable to find valid certification path");
        check(version + ": another authority", authority, url("localhost", Verify.IDENTITY, args[5]), "pw");
        check(version + ": wrong password", denied, verified, "wrong");
        check(version + ": an account that asks for TLS, without", denied, url("localhost", Verify.NOTHING, null), "pw");
    }
}
