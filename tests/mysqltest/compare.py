"""What differs between a test's output and what it should be, and the reason of it in a line that others share.

MariaDB and MySQL 8 print some things differently that are no difference in what was done; both sides are brought to one form
before they are compared (`SAME`). Plans are not compared: the output of EXPLAIN is left out."""

import re

SAME = [
    # Widths of integers, which MySQL 8 doesn't keep but for BOOLEAN's, and YEAR's.
    (r"\b(tinyint|smallint|mediumint|int|bigint)\((?!1\))\d+\)(?! unsigned zerofill| zerofill)", r"\1"),
    (r"\b(smallint|mediumint|int|bigint)\(1\)", r"\1"),
    (r"\byear\(4\)", "year"),
    # The type's name, which MySQL 8 has two of and shows the other.
    (r"\bgeometrycollection(?=\t)", "geomcollection"),
    # SHOW CREATE TABLE: what is shown beside what is default.
    (r"\bENGINE=\w+", "ENGINE=E"),
    (r"(CHARSET=\w+) COLLATE=\w+", r"\1"),
    (r" (CHECKSUM|PAGE_CHECKSUM|TRANSACTIONAL|DELAY_KEY_WRITE)=\d", ""),
    (r"^(  `.*` (?:tiny|medium|long)?(?:text|blob)\b.*) DEFAULT NULL", r"\1"),
    (r"\bDEFAULT '(-?[\d.]+)'", r"DEFAULT \1"),
    (r"\bcurrent_timestamp\((\d?)\)", lambda m: f"CURRENT_TIMESTAMP({m[1]})" if m[1] else "CURRENT_TIMESTAMP"),
    (r"\butf8mb3_", "utf8_"),
    (r"\butf8mb3\b", "utf8"),
    (r"your M(ariaDB|ySQL) server version", "your server version"),
    # Partitions: in a comment, and without quotes.
    (r"^(?:/\*!50100 | {1,2})?(\(?(?:SUB| )?PARTITION.*?)(?: \*/)?$", lambda m: m[1].replace("`", "").strip()),
    # A note for each table.
    (r"^Note\t1051\tUnknown table '([^'.]+\.[^']*?)'$", lambda m: "\n".join(f"Note\t1051\tUnknown table '{t}'" for t in m[1].split(","))),
    # The same of tables that a statement both changes and reads: MySQL's words.
    (r"Table '(\w+)' is specified twice, both as a target for '\w+' and as a separate source for data", r"You can't specify target table '\1' for update in FROM clause"),
    # Names: MySQL 8 tells a key with its table, MariaDB a column with its.
    (r"(Duplicate entry '.*' for key ')\w+\.", r"\1"),
    (r"(for (?:CAST to|column) )`\w+`\.`\w+`\.`(\w+)`", r"\1'\2'"),
    (r"Storage engine \S+ of the table `\w+`\.`(\w+)` doesn't have this option", r"Table storage engine for '\1' doesn't have this option"),
    (r"\bin '(field list|SELECT)'", "in 'field list'"),
    (r"Can't DROP \w+(?: KEY)? `(\w+)`; check that it exists", r"Can't DROP '\1'; check that column/key exists"),
    (r"Display width out of range for '", "Display width out of range for column '"),
    (r"Too big precision specified for ('\w+')\. Maximum is (\d+)", r"Too-big precision N specified for \1. Maximum is \2."),
    (r"Too-big precision \d+ specified for", "Too-big precision N specified for"),
    (r"Too big scale (?:\d+ )?specified for (?:column )?('\w+')\. Maximum is \d+\.?", r"Too big scale specified for \1."),
    (r"Wrong partition name or partition list|Error in list of partitions to \w+", "Wrong partition name or partition list"),
    # A column's collation: MySQL 8 shows it where it isn't its character set's own, MariaDB where it isn't the table's.
    (r"^(  `.*?` .*?) COLLATE \w+", r"\1"),
    # Warnings under another code or of another level.
    (r"^Warning\t1916\tGot overflow when converting '' to DECIMAL. Value truncated", "Warning\t1292\tTruncated incorrect DECIMAL value: ''"),
    (r"^(?:Note|Warning)\t1831\tDuplicate index [`'](\w+)[`'](?: defined on the table '\S+')?\.(.*?)\.?$", r"Note\t1831\tDuplicate index '\1'.\2"),
    # Messages in other words, of the same code: whose feature it is, the type in which a text is no number, what overflowed.
    (r"\b(The|need) (?:MariaDB|MySQL) ((?:server )?(?:is running|built) with)", r"\1 MySQL \2"),
    (r"\bTruncated incorrect (?:DECIMAL|DOUBLE) value", "Truncated incorrect DOUBLE value"),
    (r"Datetime function: \w+ field overflow", "Datetime function: datetime field overflow"),
    (r"(Cannot change column type) INPLACE\b", r"\1"),
    (r"\bThis version of (?:MariaDB|MySQL|Millpond) doesn't yet support", "This version of Millpond doesn't yet support"),
    (r"(Cannot execute statement in a READ ONLY transaction)\.", r"\1"),
    (r"\bTrigger '[^']+' already exists", "Trigger already exists"),
    (r"(command denied to user \S+ for table )(?:`\w+`\.`(\w+)`|'(\w+)')", lambda m: f"{m[1]}'{m[2] or m[3]}'"),
    (r"(the table is updated both as '[^']+' and '[^']+')\.?$", r"\1"),
    # A view that isn't there is an unknown table.
    (r"^Note\t4092\tUnknown VIEW: '", "Note\t1051\tUnknown table '"),
    # SHOW CREATE DATABASE: the collation that is its character set's own, and encryption.
    (r" /\*!80016 DEFAULT ENCRYPTION='N' \*/", ""),
    (r"(/\*!40100 DEFAULT CHARACTER SET (\w+)) COLLATE (?:(?!latin1)\2_general_ci|latin1_swedish_ci|latin5_turkish_ci)(?= \*/)", r"\1"),
    # SQLSTATEs that MariaDB has changed.
    (r"^ERROR 22007: (Incorrect \w+ value)", r"ERROR HY000: \1"),
]
SAME = [(re.compile(pattern, re.M | re.I), to) for pattern, to in SAME]

EXPLAINED = re.compile(r"^id\tselect_type\t")
PLAN_COLUMNS = 10
# What one of them says alone: what MySQL is to give up, notes of what columns lose (which the two give under other codes and of other values;
# scripts/random-statements holds them to MySQL's), plans, hints at their statistics, that tables of other engines are InnoDB's here, snapshots that MySQL grants at one level only.
LEFT_OUT = re.compile(
    r"^(Warning\t(1287|1681|3090|3135|3719|3720|3778|3960|4095|6527)\t|Note\t1265\tData truncated for column|Note\t1292\tIncorrect \w+ value|Note\t1003\t|call mtr\.add_suppression|\S+\tanalyze\tstatus\tEngine-independent|Warning\t1266\t|Warning\t1280\tName |Warning\t138\tInnoDB: WITH CONSISTENT|"
    r"Max_index_length\t|Temporary\t|(Ignored|Visible|Expression)\t|"
    r"\S+\tanalyze\tWarning\tEngine-independent|sys$)", re.I)
# Result sets of which one has columns more at the end: the first words of their head, and how many columns both have.
CUT = [
    (re.compile(r"^Table\tNon_unique\tKey_name\t"), 13),
    (re.compile(r"^Name\tEngine\tVersion\tRow_format\t"), 18),
    (re.compile(r"^Id\tUser\tHost\tdb\tCommand\t"), 8),
    (re.compile(r"^Collation\tCharset\tId\tDefault\t"), 6),
    (re.compile(r"^catalog_name\tschema_name\t", re.I), 5),
]
# Connections, for how long they have been doing what they do, and MySQL's and MariaDB's words for the start of it.
PROCESS = re.compile(r"^(?:\d+|#)(\t\w+\t\w+\t[^\t]*\t\w+\t)\d+\t(?:starting|executing|init|Init)?(?=\t)")
# MariaDB's max_error_count.
MAX_WARNINGS = 64
WARNING = re.compile(r"^(Warning|Note|Error)\t(\d+)\t(.*)")
STATEMENT = re.compile(
    r"^\s*(select|insert|replace|update|delete|create|alter|drop|show|set|explain|desc|describe|analyze|check|optimize|repair|checksum|truncate|"
    r"rename|load|begin|start|commit|rollback|savepoint|release|lock|unlock|prepare|execute|deallocate|do|handler|flush|use|call|with|table|values|"
    r"grant|revoke|kill|xa|help|cache|reset|purge|change|import|\()", re.I)
FAILED = re.compile(r"At line \d+: query '(.*?)' (?:failed(?: with wrong errno)?:? (?:\S+ )?\((-?\d+)\): ?'?(.*)|(succeeded - should have failed.*))",
                    re.S)


UNKNOWN_TABLES = re.compile(r"(?:^Note\t1051\tUnknown table '[^']*'\n)+", re.M)
# MariaDB's one note of all tables that aren't there is cut off here.
NAMES_CHARACTERS = 100


def told_in_one(notes):
    """The notes of tables that aren't there, without those that MariaDB's one note has no room for."""
    names = re.findall(r"'([^']*)'", notes[0])
    if len(",".join(names)) >= NAMES_CHARACTERS:
        fits = NAMES_CHARACTERS - len("...")
        names = [name for n, name in enumerate(names) if len(",".join(names[: n + 1])) <= fits and not name.endswith("...")]
    return "".join(f"Note\t1051\tUnknown table '{name}'\n" for name in names)


def normal(text):
    """The lines of an output in the form that both are compared in."""
    for pattern, to in SAME:
        text = pattern.sub(to, text)
    text = UNKNOWN_TABLES.sub(told_in_one, text)
    lines, plan, columns, warnings = [], False, 0, 0
    for line in text.split("\n"):
        if EXPLAINED.match(line):
            plan = True
            continue
        if plan and line.count("\t") >= PLAN_COLUMNS - 1:
            continue
        plan = False
        if LEFT_OUT.match(line):
            continue
        head = next((n for pattern, n in CUT if pattern.match(line)), 0)
        columns = head or (columns if line.count("\t") >= columns else 0)
        if columns:
            line = "\t".join(line.split("\t")[:columns])
        warnings = warnings + 1 if WARNING.match(line) else 0
        if warnings > MAX_WARNINGS:
            continue
        line = PROCESS.sub(r"#\1#\t", line)
        if lines and lines[-1] == "Warnings:" and not WARNING.match(line):
            lines.pop()
        # MySQL 8 heads the columns of these tables by their own names, however a query writes them.
        if lines and "information_schema" in lines[-1].lower():
            line = line.lower()
        lines.append(line)
    return lines


# Of errors whose message says all: which part of it may be compared with others'.
KEEP_QUOTED = {1193, 1231, 1235, 1238, 1115, 1273, 1286, 1109, 1064, 1305, 1049, 1229, 1228, 1232, 1295, 1128, 1210}


def brief(message, code):
    """A message without what differs from test to test."""
    message = message.split("\n")[0].rstrip("'")
    if code == 1064:
        near = re.search(r"near '(.*)", message)
        words = re.findall(r"\w+|[^\w\s]", near[1])[:2] if near else []
        return "syntax near " + " ".join(w.upper() for w in words)
    if code in KEEP_QUOTED:
        return re.sub(r"\b(FUNCTION|PROCEDURE) \w+\.", r"\1 ", message)
    if code == 1146 and re.search(r"'(mysql|performance_schema|information_schema|sys)\.", message):
        return message
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'|`[^`]*`", "…", message))


def failures(text):
    """The statements that failed or succeeded against expectation: (statement, error number, reason), in order."""
    found = []
    for block in re.split(r"^mysqltest: ", text, flags=re.M)[1:]:
        m = FAILED.search(block[:20000])
        if not m:
            reason = re.sub(r"(exec of '\s*\S+).*", r"\1'", " ".join(block.split("\n")[0].split()))[:120]
            found.append(("", 0, "the test stops: " + re.sub(r"^At line \d+: ", "", reason)))
        elif m[4]:
            code = re.search(r"error (\w+)", m[4])
            verb = " ".join(m[1].split()[:2]).upper()
            found.append((m[1], 0, f"no error {code[1] if code else '?'} from {verb}"))
        else:
            found.append((m[1], int(m[2]), f"{m[2]}: {brief(m[3], int(m[2]))}"))
    return found


def last_statement(lines):
    """The last line that looks like the start of a statement."""
    return next((line for line in reversed(lines) if STATEMENT.match(line) and "\t" not in line), "")


def kind(statement):
    """A statement's first words, as far as they tell what it does."""
    words = re.findall(r"[A-Za-z_]+", statement)[:4]
    words = [w.upper() for w in words]
    if not words:
        return "?"
    count = {"SHOW": 3, "CREATE": 2, "ALTER": 2, "DROP": 2, "SET": 1, "LOAD": 2, "CHECKSUM": 2}.get(words[0], 1)
    return " ".join(words[:count])


def mismatch(expected, actual, at):
    """The reason of the first differing line, of lines that both have or only one."""
    want = expected[at] if at < len(expected) else "<end>"
    got = actual[at] if at < len(actual) else "<end>"
    statement = last_statement(actual[:at])
    what = kind(statement)
    wants, gots = WARNING.match(want), WARNING.match(got)
    if want.startswith("ERROR") and got.startswith("ERROR"):
        return f"other error from {what}: wants {brief(want, 0)}, gets {brief(got, 0)}"
    if want.startswith("ERROR"):
        return f"no error from {what}: {brief(want, 0)}"
    if got.startswith("ERROR"):
        return f"from {what}: {got if 'yet support' in got else brief(got, 0)}"
    if wants and gots:
        if wants[2] == gots[2]:
            return f"other text of {wants[1]} {wants[2]}"
        return f"{gots[1]} {gots[2]} instead of {wants[1]} {wants[2]} from {what}"
    if want == "Warnings:" or wants:
        after = WARNING.match(expected[at + 1]) if want == "Warnings:" and at + 1 < len(expected) else wants
        return f"missing {after[1]} {after[2]} from {what}" if after else f"missing warnings from {what}"
    if got == "Warnings:" or gots:
        after = WARNING.match(actual[at + 1]) if got == "Warnings:" and at + 1 < len(actual) else gots
        return f"{after[1]} {after[2]} too many from {what}" if after else f"warnings too many from {what}"
    return f"other rows or text from {what}"


# Where MySQL 8 gives another error than MariaDB: what is wanted, what is right.
OTHERWISE = [
    (r"Cannot delete or update a parent row: a foreign key constraint fails", r"Cannot drop table '.*' referenced by a foreign key constraint"),
    (r"Warnings:|WARNING\t1906", r"The value specified for generated column '.*' in table '.*' is not allowed"),
    (r"", r"Supports only YEAR or year column"),
    # NULL by another name.
    (r"", r"1064.*near '\\N"),
    (r"", r"1171.*All parts of a PRIMARY KEY must be NOT NULL"),
]
OTHERWISE = [(re.compile(want), re.compile(got)) for want, got in OTHERWISE]


def otherwise(want, got):
    """Whether MySQL 8 answers so, where MariaDB answers as is wanted."""
    return any(w.search(want) and g.search(got) for w, g in OTHERWISE)


# What MariaDB has and MySQL 8 has not, by the statement that fails.
EXTENSIONS = [
    (r"\bset\s+statement\b", "SET STATEMENT"),
    (r"/\*M!", "MariaDB's comments"),
    (r"\bbegin\s+not\s+atomic\b|^\s*for\s+\w+\s+in\b", "compound statements outside of programs"),
    (r"cursor\s*\((?!\s*\))", "cursors with parameters"),
    (r"\bcte\b.*\bcycle\b|\brestrict\b.*\bcycle\b", "CYCLE"),
    (r"and\s+disable\s+checkpoint", "FLUSH ... AND DISABLE CHECKPOINT"),
    (r"group\s+by.*\bvalue\s*\(", "VALUE()"),
    (r"\bcast\(.*\bas\s+interval\b", "CAST AS INTERVAL"),
    (r"_nopad_|\w+_520_w2|uca1400|_casefold", "MariaDB's collations"),
    (r"\bfilename\b", "character set filename"),
    (r"@@\w*\.?(sync_frm|secure_auth|log_warnings|default_master_connection|max_session_mem_used)|\b(sync_frm|secure_auth|default_master_connection|max_session_mem_used)\s*=",
     "MariaDB's variables"),
    (r"^\s*(grant|revoke)\b.*\b(binlog (replay|admin|monitor)|(connection|federated|read_only|read only|replication master|replication slave) admin|slave monitor|"
     r"replica monitor|delete history|show create routine)\b", "MariaDB's privileges"),
    (r"mysql\.(global_priv|proc|event|host)\b", "MariaDB's system tables"),
    (r"\bfor\s+public\b", "PUBLIC"),
    (r"\bexecute\s+immediate\b", "EXECUTE IMMEDIATE"),
    (r"\bcreate\s+or\s+replace\s+(?!.*\bview\b|spatial)|\bor\s+replace\s+(temporary\s+)?table", "CREATE OR REPLACE"),
    (r"\b(create|alter|drop|show create)\s+(or replace\s+)?(temporary\s+)?sequence|nextval|setval|next value for|previous value", "sequences"),
    (r"\breturning\b", "RETURNING"),
    (r"\bsystem versioning|system_time|\bperiod for\b|without overlaps|for portion of", "system versioning and periods"),
    (r"^\s*analyze\s+(format|select|update|delete|insert|replace|with|table\s+\w+\s+persistent|\()|persistent for", "ANALYZE of statements, persistent statistics"),
    (r"\b(mysql\.)?(table|column|index)_stats\b|use_stat_tables|histogram_(size|type)", "MariaDB's engine-independent statistics"),
    (r"column_(create|add|get|list|check|delete|json)\s*\(", "dynamic columns"),
    (r"\b(percentile_(cont|disc)|median)\s*\(", "PERCENTILE, MEDIAN"),
    (r"sql_mode.*(oracle|mssql|db2|maxdb|postgresql|empty_string_is_null|simultaneous_assignment|time_round_fractional|no_field_options|mysql40|mysql323|"
     r"ignore_bad_table_options)", "MariaDB's sql_mode"),
    (r"no_auto_create_user", "sql_mode NO_AUTO_CREATE_USER"),
    (r"\b(inet6|inet4|uuid)\b(?!\s*\()", "INET6, UUID types"),
    (r"\b(type|row type)\s+of\b|\bpackage\b", "Oracle's stored language"),
    (r"\b(drop|create|alter)\s+(index|column|constraint|foreign key)\s+if\s+(not\s+)?exists|"
     r"\b(drop|modify|change|add)\s+(column\s+|index\s+|key\s+|constraint\s+|foreign\s+key\s+|primary key\s+|unique\s+(index\s+|key\s+)?)?if\s+(not\s+)?exists|"
     r"alter\s+(online\s+|ignore\s+)*table\s+if exists|rename (column|index|table) if exists", "IF EXISTS where MySQL has none"),
    (r"alter\s+(online|ignore)\b", "ALTER IGNORE, ALTER ONLINE"),
    (r"optimizer_switch", "MariaDB's optimizer switches"),
    (r"\b(aria|query_cache|s3|wsrep|encrypt|thread_pool|join_cache_level|join_buffer_space|optimizer_use_condition|optimizer_trace_max|mrr_buffer|"
     r"deadlock_search|debug_dbug|debug_sync|in_predicate_conversion|sort_merge|progress_report|alter_algorithm|system_versioning|column_compression|"
     r"analyze_sample|eq_range_index|rowid_merge|key_cache|idle_\w*transaction|userstat|secure_timestamp|old_mode|tmp_memory_table|expensive_subquery|"
     r"max_statement_time|max_recursive_iterations|optimizer_max_sel|slow_query_log_|log_slow|default_regex|key_buffer|standard_compliant)\w*\s*=|"
     r"@@\w*\.?(max_statement_time|old_mode)", "MariaDB's variables"),
    (r"\b(user|client|index|table)_statistics\b", "user statistics"),
    (r"information_schema\.(system_variables|all_plugins|spider|key_caches|table_statistics|applicable_roles|geometry_columns|spatial_ref_sys|"
     r"optimizer_costs|thread_pool|sql_functions|user_variables|keywords|period|client_stat)", "MariaDB's INFORMATION_SCHEMA"),
    (r"\b(json_(detailed|loose|compact|exists|query|normalize|equals|overlaps_m|array_intersect|object_filter)|decode_oracle|natural_sort_key|"
     r"sformat|crc32c|random_bytes_m|ed25519|kdf|format_pico_time|chr|to_char|trim_oracle|st_\w*multi|wsrep_\w+|master_gtid_wait|spider_\w+|"
     r"encode|decode|des_encrypt|des_decrypt|password|old_password|last_value|sys_guid|add_months|rownum|binlog_gtid_pos|length_oracle)\s*\(",
     "MariaDB's functions"),
    (r"\b(engine|type)\s*=\s*(aria|maria|sequence|spider|connect|mroonga|rocksdb|federatedx?|s3|oqgraph|sphinx)", "other engines"),
    (r"\bignored\b|\bnot\s+ignored\b", "ignored indexes"),
    (r"\b(page_checksum|transactional|page_compressed|with_parsers?|itef_quotes|encrypted|encryption_key_id)\s*=", "MariaDB's table options"),
    (r"\bcompressed\b(?!\s*,?\s*algorithm)", "compressed columns"),
    (r"\b(persistent)\b", "PERSISTENT generated columns"),
    (r"^\s*(backup|show (explain|authors|contributors|locales|package|index_stat|table_stat|user_stat|client_stat)|install|uninstall)",
     "MariaDB's statements"),
    (r"\bwait\s+\d+\b|\bnowait\b(?!.*\b(share|update)\b)", "WAIT and NOWAIT"),
    (r"limit\s+.*rows\s+examined", "LIMIT ROWS EXAMINED"),
    (r"\bdelete\b.*\bhistory\b", "system versioning and periods"),
    (r"\bprocedure\s+analyse\b", "PROCEDURE ANALYSE"),
]
EXTENSIONS = [(re.compile(pattern, re.I | re.S), name) for pattern, name in EXTENSIONS]


def extension(statement):
    """The name of what a statement uses that MySQL 8 hasn't."""
    return next((name for pattern, name in EXTENSIONS if pattern.search(statement)), None)


REFUSED = "not supported: "
UNSUPPORTED = re.compile(r"This version of Millpond doesn't yet support '(.*?)'?$")
UNKNOWN_NAME = re.compile(r"^(?:1115|1273|1286): (Unknown (?:character set|collation|storage engine): '.*?)'?$")


def explains_itself(reason):
    """The reason of a failure in the words of those who read it, if the statement that failed, or the test, says it: error 1235, a name that
    there isn't, or a question of the test's that finds something missing. None if somebody must look."""
    if m := UNSUPPORTED.search(reason):
        return REFUSED + re.sub(r"\s+", " ", m[1])
    if m := UNKNOWN_NAME.match(reason):
        return REFUSED + m[1]
    if reason.startswith("skipped: "):
        return REFUSED + "what the test asks for: " + reason.removeprefix("skipped: ")
    return None


class Verdict:
    """`state`: pass, fail or na. `reason`: of the first difference, as others may share it. `all`: every reason met."""

    def __init__(self, state, reason="", detail="", others=()):
        self.state, self.reason, self.detail, self.others = state, reason, detail, list(others)


def judge(expected_text, actual_text):
    expected, actual = normal(expected_text), normal(actual_text)
    found = failures(actual_text)
    # What fails in both alike is no failure: MariaDB's own answer may be one.
    if expected == actual:
        return Verdict("pass")
    for statement, code, reason in found:
        if code in (1064, 1193, 1231, 1235, 1305, 1109, 1286, 1146, 1054, 1149, 1128, 4161, 1911, 1470, 1072, 1115, 1273) and (name := extension(statement)):
            return Verdict("na", f"MariaDB extension: {name}", reason)
    at = next((i for i, (e, a) in enumerate(zip(expected, actual)) if e != a), min(len(expected), len(actual)))
    want = expected[at] if at < len(expected) else "<end>"
    got = actual[at] if at < len(actual) else "<end>"
    if otherwise(want, got):
        return Verdict("na", "MySQL 8 answers otherwise", f"{want[:160]!r}, {got[:160]!r}")
    if not found and sorted(expected) == sorted(actual):
        return Verdict("na", "another order of rows, where none is asked for")
    detail = f"line {at + 1}: wants {want[:160]!r}, gets {got[:160]!r}"
    statements = [reason for _, _, reason in found]
    if found and (got.startswith("mysqltest:") or not want.strip()):
        first = found[0]
        return Verdict("fail", first[2], f"{' '.join(first[0].split())[:160]}", statements)
    near = last_statement(actual[:at])
    if name := extension(near):
        return Verdict("na", f"MariaDB extension: {name}", detail)
    if found and got.startswith("At line"):
        return Verdict("fail", found[0][2], detail, statements)
    return Verdict("fail", mismatch(expected, actual, at), f"{near[:100]} | {detail}", [mismatch(expected, actual, at), *statements])
