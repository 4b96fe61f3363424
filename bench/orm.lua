-- Queries as object-relational mappers write them, for sysbench: a few joins by key, about ten rows, subselects, EXISTS,
-- ORDER BY with LIMIT. bench/orm drives it; --shape names the query.

sysbench.cmdline.options = {
   shape = {"Which query", "post_page"},
   scale = {"Users; posts are five times, comments forty times as many", 2000},
}

local SCHEMA = {
   "CREATE TABLE countries (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL)",
   "CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(60) NOT NULL, country_id INT NOT NULL, active TINYINT NOT NULL, KEY (country_id), KEY (name))",
   "CREATE TABLE profiles (id INT PRIMARY KEY, user_id INT NOT NULL, bio VARCHAR(200), UNIQUE KEY (user_id))",
   "CREATE TABLE categories (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, parent_id INT, KEY (parent_id))",
   "CREATE TABLE posts (id INT PRIMARY KEY, user_id INT NOT NULL, category_id INT NOT NULL, title VARCHAR(120) NOT NULL, created DATETIME NOT NULL, KEY (user_id, created), KEY (category_id), KEY (created))",
   "CREATE TABLE comments (id INT PRIMARY KEY, post_id INT NOT NULL, user_id INT NOT NULL, body VARCHAR(200) NOT NULL, created DATETIME NOT NULL, KEY (post_id, created), KEY (user_id))",
   "CREATE TABLE tags (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL, UNIQUE KEY (name))",
   "CREATE TABLE post_tags (post_id INT NOT NULL, tag_id INT NOT NULL, PRIMARY KEY (post_id, tag_id), KEY (tag_id))",
}

-- What %d stands for: u a user, p a post, t a tag, c a country.
local SHAPES = {
   post_page = {"p", "SELECT p.id, p.title, p.created, u.name, c.name, pr.bio, co.name FROM posts p JOIN users u ON u.id = p.user_id JOIN categories c ON c.id = p.category_id LEFT JOIN profiles pr ON pr.user_id = u.id JOIN countries co ON co.id = u.country_id WHERE p.id = %d"},
   comments_of_post = {"p", "SELECT cm.id, cm.body, cm.created, u.name, pr.bio FROM comments cm JOIN users u ON u.id = cm.user_id LEFT JOIN profiles pr ON pr.user_id = u.id WHERE cm.post_id = %d ORDER BY cm.created DESC LIMIT 10"},
   timeline = {"u", "SELECT p.id, p.title, p.created, (SELECT COUNT(*) FROM comments cm WHERE cm.post_id = p.id) AS comment_count FROM posts p WHERE p.user_id = %d ORDER BY p.created DESC LIMIT 10"},
   tagged = {"t", "SELECT p.id, p.title, u.name FROM posts p JOIN users u ON u.id = p.user_id WHERE EXISTS (SELECT 1 FROM post_tags pt WHERE pt.post_id = p.id AND pt.tag_id = %d) ORDER BY p.id DESC LIMIT 10"},
   tagged_in = {"t", "SELECT p.id, p.title FROM posts p WHERE p.id IN (SELECT pt.post_id FROM post_tags pt WHERE pt.tag_id = %d) ORDER BY p.id LIMIT 10"},
   six_joins = {"p", "SELECT p.title, cm.body, u.name, pu.name, t.name, c.name FROM posts p JOIN comments cm ON cm.post_id = p.id JOIN users u ON u.id = cm.user_id JOIN users pu ON pu.id = p.user_id JOIN categories c ON c.id = p.category_id LEFT JOIN post_tags pt ON pt.post_id = p.id LEFT JOIN tags t ON t.id = pt.tag_id WHERE p.id = %d ORDER BY cm.id LIMIT 10"},
   newest = {"c", "SELECT p.id, p.title, u.name FROM posts p JOIN users u ON u.id = p.user_id JOIN countries co ON co.id = u.country_id WHERE co.id = %d ORDER BY p.created DESC LIMIT 10"},
   derived = {"u", "SELECT u.name, x.n, x.last FROM users u JOIN (SELECT p.user_id, COUNT(*) AS n, MAX(p.created) AS last FROM posts p GROUP BY p.user_id) x ON x.user_id = u.id WHERE u.id = %d"},
   not_commented = {"u", "SELECT p.id, p.title FROM posts p WHERE p.user_id = %d AND NOT EXISTS (SELECT 1 FROM comments cm WHERE cm.post_id = p.id AND cm.user_id = p.user_id) ORDER BY p.id LIMIT 10"},
   in_list = {"p", "SELECT p.id, p.title, u.name, c.name FROM posts p JOIN users u ON u.id = p.user_id JOIN categories c ON c.id = p.category_id WHERE p.id IN (%d, 11, 222, 333, 444, 555, 666, 777, 888, 999)"},
}

local function insert(con, table, count, row)
   con:bulk_insert_init("INSERT INTO " .. table .. " VALUES")
   for n = 1, count do
      con:bulk_insert_next(row(n))
   end
   con:bulk_insert_done()
end

function prepare()
   local con = sysbench.sql.driver():connect()
   local users = sysbench.opt.scale
   local posts, comments = users * 5, users * 40
   for _, s in ipairs(SCHEMA) do con:query(s) end
   local date = function(n) return string.format("2024-%02d-%02d %02d:%02d:%02d", n % 12 + 1, n % 28 + 1, n % 24, n % 60, n % 59) end
   insert(con, "countries", 50, function(n) return string.format("(%d,'country %d')", n, n) end)
   insert(con, "users", users, function(n) return string.format("(%d,'user %d',%d,%d)", n, n * 7 % users, n % 50 + 1, n % 2) end)
   insert(con, "profiles", users, function(n) return string.format("(%d,%d,'about user %d')", n, n, n) end)
   insert(con, "categories", 100, function(n) return string.format("(%d,'category %d',%s)", n, n, n > 10 and n % 10 + 1 or "NULL") end)
   insert(con, "posts", posts, function(n) return string.format("(%d,%d,%d,'post number %d','%s')", n, n * 13 % users + 1, n % 100 + 1, n, date(n)) end)
   insert(con, "comments", comments, function(n) return string.format("(%d,%d,%d,'comment number %d','%s')", n, n * 17 % posts + 1, n * 29 % users + 1, n, date(n)) end)
   insert(con, "tags", 200, function(n) return string.format("(%d,'tag %d')", n, n) end)
   insert(con, "post_tags", posts * 3, function(n) return string.format("(%d,%d)", (n - 1) % posts + 1, (n * 31 + math.floor((n - 1) / posts) * 67) % 200 + 1) end)
   con:query("ANALYZE TABLE countries, users, profiles, categories, posts, comments, tags, post_tags")
end

function thread_init()
   con = sysbench.sql.driver():connect()
   shape = SHAPES[sysbench.opt.shape] or error("no such shape: " .. sysbench.opt.shape)
   local users = sysbench.opt.scale
   ids = ({u = users, p = users * 5, t = 200, c = 50})[shape[1]]
end

function event()
   con:query(string.format(shape[2], sysbench.rand.uniform(1, ids)))
end

function thread_done()
   con:disconnect()
end
