import { type Key, keysOf } from '../key.ts';

/** Keys that the router shares with NameNodes and clients. Columns: key.ts. */
// biome-ignore format: a table, one key a line
export const HDFS_KEYS: readonly Key[] = [
  ...keysOf('nn-address', 'hdfs-default', [
    { name: 'dfs.nameservices', type: 'list', default: '', status: 'used', meaning: 'Known nameservices' },
    { name: 'dfs.nameservice.id', type: 'string', default: '', status: 'later', meaning: 'Local nameservice override' },
    { name: 'dfs.ha.namenode.id', type: 'string', default: '', status: 'later', meaning: 'Local NameNode override' },
    { name: 'dfs.namenode.rpc-address', type: 'address', default: '', status: 'used', suffix: 'nameservice and NameNode', meaning: 'NameNode client RPC address' },
    { name: 'dfs.namenode.servicerpc-address', type: 'address', default: '', status: 'used', suffix: 'nameservice and NameNode', meaning: 'Where the router asks a NameNode about its namespace; not set: its rpc-address' },
    { name: 'dfs.namenode.lifeline.rpc-address', type: 'address', default: '', status: 'used', suffix: 'nameservice and NameNode', meaning: 'Where the router asks a NameNode for its HA state; not set: its service address' },
    { name: 'dfs.namenode.http-address', type: 'address', default: '0.0.0.0:9870', status: 'used', suffix: 'nameservice and NameNode', meaning: 'Where the router asks a NameNode for its figures (/jmx); a wildcard host means the host of its rpc-address' },
    { name: 'dfs.namenode.https-address', type: 'address', default: '0.0.0.0:9871', status: 'used', suffix: 'nameservice and NameNode', meaning: 'The same with HTTPS_ONLY' },
    { name: 'dfs.namenode.rpc-address.auxiliary-ports', type: 'list', default: '', status: 'understood', suffix: 'nameservice and NameNode', meaning: 'First value replaces the port when addresses are looked up through the nameservice map' },
  ]),
  ...keysOf('nn-address', 'code', [
    { name: 'dfs.ha.namenodes.<nsId>', type: 'list', default: '', status: 'used', meaning: 'NameNode ids of one nameservice' },
  ]),
  ...keysOf('http', 'hdfs-default', [
    { name: 'dfs.http.policy', type: 'enum', default: 'HTTP_ONLY', status: 'later', allowed: ['HTTP_ONLY', 'HTTPS_ONLY', 'HTTP_AND_HTTPS'], protects: { harmless: ['HTTP_ONLY', 'HTTP_AND_HTTPS'], remedy: 'HTTPS is not built yet: set it to HTTP_ONLY' }, meaning: 'Which web endpoints exist; any other text is an error' },
    { name: 'dfs.https.server.keystore.resource', type: 'trimmed', default: 'ssl-server.xml', status: 'later', meaning: 'TLS server settings' },
    { name: 'dfs.xframe.enabled', type: 'bool', default: 'true', status: 'later', meaning: 'X-FRAME-OPTIONS header' },
    { name: 'dfs.xframe.value', type: 'string', default: 'SAMEORIGIN', status: 'later', meaning: 'Its value' },
    { name: 'dfs.web.authentication.kerberos.principal', type: 'trimmed', default: '', status: 'later', meaning: 'SPNEGO' },
    { name: 'dfs.web.authentication.kerberos.keytab', type: 'string', default: '', status: 'later', meaning: 'SPNEGO keytab' },
    { name: 'dfs.webhdfs.user.provider.user.pattern', type: 'string', default: '^[A-Za-z_][A-Za-z0-9._-]*[$]?$', status: 'later', meaning: 'user.name check' },
    { name: 'dfs.webhdfs.acl.provider.permission.pattern', type: 'string', default: '^(default:)?(user|group|mask|other):[[A-Za-z_][A-Za-z0-9._-]]*:([rwx-]{3})?(,(default:)?(user|group|mask|other):[[A-Za-z_][A-Za-z0-9._-]]*:([rwx-]{3})?)*$', status: 'later', meaning: 'aclspec check' },
    { name: 'dfs.webhdfs.rest-csrf.enabled', type: 'bool', default: 'false', status: 'later', protects: { harmless: ['false'], remedy: 'the cross-site request filter is not built yet: set it to false' }, meaning: 'CSRF header filter' },
    { name: 'dfs.webhdfs.ugi.expire.after.access', type: 'int', default: '600000', status: 'later', unit: 'ms', meaning: 'UGI cache' },
    { name: 'dfs.client.https.need-auth', type: 'bool', default: 'false', status: 'later', protects: { harmless: ['false'], remedy: 'HTTPS is not built yet: set it to false' }, meaning: 'HTTPS asks clients for a certificate' },
    { name: 'dfs.web.authentication.simple.anonymous.allowed', type: 'bool', default: '', status: 'later', protects: { harmless: ['true'], remedy: 'HTTP authentication is not built yet: remove it' }, meaning: 'Anonymous HTTP, in the older spelling' },
  ]),
  ...keysOf('admin', 'hdfs-default', [
    { name: 'dfs.permissions.enabled', type: 'bool', default: 'true', status: 'used', meaning: 'false: whoever reaches the admin port may change mount entries and the router' },
    { name: 'dfs.permissions.superusergroup', type: 'string', default: 'supergroup', status: 'used', meaning: 'Group of the directories that the router makes up; its members may administer the router' },
  ]),
  ...keysOf('security', 'hdfs-default', [
    { name: 'dfs.namenode.kerberos.principal', type: 'trimmed', default: '', status: 'later', meaning: 'Server principal expected from NameNodes; the CLI also uses it for generic refresh' },
  ]),
  ...keysOf('rpc', 'hdfs-default', [
    { name: 'dfs.namenode.ip-proxy-users', type: 'list', default: '', status: 'used', meaning: 'Not empty: the router introduces itself to NameNodes as the real user behind each client' },
  ]),
  ...keysOf('nn-client', 'hdfs-default', [
    { name: 'dfs.client.failover.max.attempts', type: 'int', default: '15', status: 'understood', meaning: 'Failovers in the retry policy of one proxied call' },
    { name: 'dfs.client.failover.sleep.base.millis', type: 'int', default: '500', status: 'understood', unit: 'ms', meaning: 'First pause of that policy' },
    { name: 'dfs.client.failover.sleep.max.millis', type: 'int', default: '15000', status: 'understood', unit: 'ms', meaning: 'Longest pause' },
    { name: 'dfs.client.retry.policy.enabled', type: 'bool', default: 'false', status: 'understood', meaning: 'Use the multi-linear-random policy for the connection itself' },
    { name: 'dfs.client.retry.policy.spec', type: 'string', default: '10000,6,60000,10', status: 'understood', meaning: 'Its steps' },
    { name: 'dfs.client.server-defaults.validity.period.ms', type: 'long', default: '3600000', status: 'used', unit: 'ms', range: [0, 2_147_483_647], meaning: 'How long an answer of getServerDefaults is kept for all clients' },
  ]),
  ...keysOf('metrics', 'code', [
    { name: 'dfs.metrics.session-id', type: 'string', default: '', status: 'later', meaning: 'SessionId tag of metrics' },
  ]),
  ...keysOf('metrics', 'hdfs-default', [
    { name: 'dfs.metrics.percentiles.intervals', type: 'list', default: '', status: 'later', meaning: 'Percentile metrics' },
  ]),
  ...keysOf('namespace', 'core-default', [
    { name: 'fs.trash.interval', type: 'long', default: '0', status: 'later', unit: 'min', meaning: 'Trash awareness of clients' },
  ]),
];
