-- A rental shop in the manner of Sakila, with own data: what dumps have to carry. No generated columns: mariadb-dump writes their values, which MySQL refuses (3105).
CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
USE shop;
SET foreign_key_checks = 0;
CREATE TABLE country (country_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, country VARCHAR(50) NOT NULL, last_update TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, PRIMARY KEY (country_id));
CREATE TABLE city (city_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, city VARCHAR(50) NOT NULL, country_id SMALLINT UNSIGNED NOT NULL, PRIMARY KEY (city_id), KEY idx_fk_country_id (country_id), CONSTRAINT fk_city_country FOREIGN KEY (country_id) REFERENCES country (country_id) ON DELETE RESTRICT ON UPDATE CASCADE);
CREATE TABLE address (address_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, address VARCHAR(50) NOT NULL, district VARCHAR(20) NOT NULL DEFAULT 'it''s "here"', city_id SMALLINT UNSIGNED NOT NULL, location GEOMETRY NOT NULL, PRIMARY KEY (address_id), SPATIAL KEY idx_location (location), CONSTRAINT fk_address_city FOREIGN KEY (city_id) REFERENCES city (city_id) ON UPDATE CASCADE);
CREATE TABLE film (film_id SMALLINT UNSIGNED NOT NULL AUTO_INCREMENT, title VARCHAR(128) NOT NULL, description TEXT DEFAULT NULL, release_year YEAR DEFAULT NULL, rental_rate DECIMAL(4,2) NOT NULL DEFAULT 4.99, rating ENUM('G','PG','PG-13','R','NC-17') DEFAULT 'G', special_features SET('Trailers','Commentaries','Deleted Scenes') DEFAULT NULL, facts JSON DEFAULT NULL, poster BLOB DEFAULT NULL, PRIMARY KEY (film_id), KEY idx_title (title), CONSTRAINT rate_is_positive CHECK (rental_rate >= 0)) COMMENT='what there is to rent; 100% "good"';
CREATE TABLE film_text (film_id SMALLINT NOT NULL, title VARCHAR(255) NOT NULL, description TEXT, PRIMARY KEY (film_id), FULLTEXT KEY idx_title_description (title, description));
CREATE TABLE customer (customer_id INT UNSIGNED NOT NULL AUTO_INCREMENT, name VARCHAR(45) NOT NULL, email VARCHAR(50) DEFAULT NULL, address_id SMALLINT UNSIGNED NOT NULL, active TINYINT(1) NOT NULL DEFAULT 1, bits BIT(9) DEFAULT b'101', created DATETIME(6) NOT NULL, PRIMARY KEY (customer_id), UNIQUE KEY by_email (email), KEY by_name (name(10)), CONSTRAINT fk_customer_address FOREIGN KEY (address_id) REFERENCES address (address_id));
CREATE TABLE rental (rental_id INT NOT NULL AUTO_INCREMENT, rented DATETIME NOT NULL, film_id SMALLINT UNSIGNED NOT NULL, customer_id INT UNSIGNED NOT NULL, returned DATETIME DEFAULT NULL, weight DOUBLE DEFAULT NULL, rate FLOAT DEFAULT NULL, PRIMARY KEY (rental_id), UNIQUE KEY once (rented, film_id, customer_id), CONSTRAINT fk_rental_film FOREIGN KEY (film_id) REFERENCES film (film_id), CONSTRAINT fk_rental_customer FOREIGN KEY (customer_id) REFERENCES customer (customer_id) ON DELETE CASCADE);
CREATE TABLE payment_log (at DATE NOT NULL, customer_id INT UNSIGNED NOT NULL, amount DECIMAL(8,2) NOT NULL, note VARBINARY(40) DEFAULT NULL, KEY (at)) PARTITION BY RANGE (YEAR(at)) (PARTITION p2022 VALUES LESS THAN (2023), PARTITION p2023 VALUES LESS THAN (2024), PARTITION later VALUES LESS THAN MAXVALUE);
SET foreign_key_checks = 1;
INSERT INTO country VALUES (1, 'Côte d''Ivoire', '2006-02-15 04:44:00'), (2, '日本', '2006-02-15 04:44:00'), (3, 'Nowhere 🌾', '2006-02-15 04:44:00');
INSERT INTO city VALUES (1, 'Abidjan', 1), (2, '東京', 2), (300, 'Last', 3);
INSERT INTO address VALUES (1, 'Rue 1', DEFAULT, 1, ST_GeomFromText('POINT(1 2)')), (2, 'x\'y\\z\n"w"', 'tab\there', 2, ST_GeomFromText('POLYGON((0 0,0 5,5 5,5 0,0 0))')), (3, '', '', 300, ST_GeomFromText('POINT(7.25 -3.5)'));
INSERT INTO film (film_id, title, description, release_year, rental_rate, rating, special_features, facts, poster) VALUES (1, 'The Mill', 'A miller grinds rye by the pond', 1999, 0.99, 'PG', 'Trailers,Deleted Scenes', '{"stars": [1, 2, 3], "von": "Mühle"}', X'00FF27225C0A0D1A'), (2, 'The Pond', NULL, 2155, 2.99, 'NC-17', '', NULL, NULL), (3, 'Rye', '%_\\', NULL, 4.99, NULL, NULL, '[]', '');
INSERT INTO customer VALUES (1, 'Ann Miller', 'ann@example.org', 1, 1, b'111111111', '2024-01-02 03:04:05.678901'), (2, 'Bo', NULL, 2, 0, NULL, '1000-01-01 00:00:00'), (3, 'Cé', 'cé@example.org', 3, 1, b'0', '9999-12-31 23:59:59.999999');
INSERT INTO rental VALUES (1, '2024-02-29 10:00:00', 1, 1, '2024-03-01 10:00:00', 0.1, 0.5), (2, '2024-02-29 10:00:00', 2, 1, NULL, -1.5e300, -0.25), (7, '2024-03-01 00:00:00', 3, 3, NULL, NULL, NULL);
INSERT INTO payment_log VALUES ('2022-12-31', 1, 1.00, X'0027'), ('2023-06-01', 1, 99.95, NULL), ('2024-01-01', 3, 0.01, 'n'), ('2030-01-01', 2, -5.00, '');
CREATE VIEW film_list AS SELECT f.film_id AS fid, f.title AS title, COUNT(r.rental_id) AS rentals FROM film f LEFT JOIN rental r ON r.film_id = f.film_id GROUP BY f.film_id, f.title;
CREATE VIEW customer_list AS SELECT c.customer_id AS id, CONCAT(c.name, _utf8mb4' <', COALESCE(c.email, '-'), '>') AS who, ci.city AS city FROM customer c JOIN address a ON c.address_id = a.address_id JOIN city ci ON a.city_id = ci.city_id WHERE c.active = 1 WITH CASCADED CHECK OPTION;
CREATE SQL SECURITY INVOKER VIEW of_a_view AS SELECT l.title AS title, l.rentals * 2 AS twice FROM film_list l WHERE l.rentals > 0;
DELIMITER ;;
CREATE TRIGGER film_ins AFTER INSERT ON film FOR EACH ROW BEGIN INSERT INTO film_text (film_id, title, description) VALUES (NEW.film_id, NEW.title, NEW.description); END;;
CREATE TRIGGER film_upd AFTER UPDATE ON film FOR EACH ROW BEGIN
  IF (OLD.title != NEW.title) OR NOT (OLD.description <=> NEW.description) THEN
    UPDATE film_text SET title = NEW.title, description = NEW.description WHERE film_id = OLD.film_id; -- it follows
  END IF;
END;;
CREATE TRIGGER film_del AFTER DELETE ON film FOR EACH ROW DELETE FROM film_text WHERE film_id = OLD.film_id;;
CREATE TRIGGER customer_first BEFORE INSERT ON customer FOR EACH ROW SET NEW.name = TRIM(NEW.name);;
CREATE TRIGGER customer_second BEFORE INSERT ON customer FOR EACH ROW FOLLOWS customer_first SET NEW.email = LOWER(NEW.email);;
CREATE FUNCTION films_of(who INT) RETURNS INT READS SQL DATA COMMENT 'how many films are out; it''s a count' BEGIN
  DECLARE n INT DEFAULT 0;
  SELECT COUNT(*) INTO n FROM rental WHERE customer_id = who AND returned IS NULL;
  RETURN n;
END;;
CREATE PROCEDURE bring_back(IN which INT, OUT late INT) MODIFIES SQL DATA SQL SECURITY INVOKER BEGIN
  DECLARE EXIT HANDLER FOR NOT FOUND SET late = -1;
  SELECT DATEDIFF('2024-03-10', rented) INTO late FROM rental WHERE rental_id = which;
  UPDATE rental SET returned = '2024-03-10 12:00:00' WHERE rental_id = which;
END;;
CREATE PROCEDURE over_all() BEGIN
  DECLARE done, id INT DEFAULT 0;
  DECLARE c CURSOR FOR SELECT customer_id FROM customer ORDER BY customer_id;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = 1;
  DROP TEMPORARY TABLE IF EXISTS counts;
  CREATE TEMPORARY TABLE counts (id INT, films INT);
  OPEN c;
  l: LOOP
    FETCH c INTO id;
    IF done THEN LEAVE l; END IF;
    INSERT INTO counts VALUES (id, films_of(id));
  END LOOP;
  CLOSE c;
  SELECT * FROM counts ORDER BY id;
END;;
CREATE EVENT tidy ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01 00:00:00' ON COMPLETION PRESERVE DISABLE COMMENT 'at night' DO BEGIN DELETE FROM payment_log WHERE at < '2000-01-01'; END;;
DELIMITER ;
INSERT INTO film_text SELECT film_id, title, description FROM film;
CREATE DATABASE other CHARACTER SET latin1;
USE other;
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10));
INSERT INTO t VALUES (1, 'é');
CREATE VIEW across AS SELECT c.name AS name FROM shop.customer c;
CREATE DATABASE odd;
USE odd;
CREATE TABLE `odd ``name` (`a``b` INT NOT NULL, `select` VARCHAR(20) CHARACTER SET latin1 DEFAULT 'äöü', t TIME(3) DEFAULT NULL, PRIMARY KEY (`a``b`));
INSERT INTO `odd ``name` VALUES (1, DEFAULT, '-12:34:56.789'), (2, '', NULL);
