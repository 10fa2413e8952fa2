import { type Key, keysOf } from '../key.ts';

/** Keys of the stores of delegation tokens. Columns: key.ts. */
// biome-ignore format: a table, one key a line
export const TOKEN_KEYS: readonly Key[] = [
  ...keysOf('tokens', 'code', [
    { name: 'delegation-token.update-interval.sec', type: 'long', default: '86400', status: 'later', unit: 's', meaning: 'Master-key roll (router token managers use these, not the dfs.namenode.delegation.* keys)' },
    { name: 'delegation-token.max-lifetime.sec', type: 'long', default: '604800', status: 'later', unit: 's', meaning: 'Token max life (router token managers use these, not the dfs.namenode.delegation.* keys)' },
    { name: 'delegation-token.renew-interval.sec', type: 'long', default: '86400', status: 'later', unit: 's', meaning: 'Token renew period (router token managers use these, not the dfs.namenode.delegation.* keys)' },
    { name: 'delegation-token.removal-scan-interval.sec', type: 'long', default: '3600', status: 'later', unit: 's', meaning: 'Expired token scan (router token managers use these, not the dfs.namenode.delegation.* keys)' },
    { name: 'sql-dt-secret-manager.connection.url', type: 'string', default: '', status: 'later', meaning: 'SQL token store: JDBC URL' },
    { name: 'sql-dt-secret-manager.connection.username', type: 'string', default: '', status: 'later', meaning: 'SQL token store: User' },
    { name: 'sql-dt-secret-manager.connection.password', type: 'string', default: '', status: 'later', secret: true, meaning: 'SQL token store: Password' },
    { name: 'sql-dt-secret-manager.connection.driver', type: 'string', default: '', status: 'later', meaning: 'SQL token store: Driver class' },
    { name: 'sql-dt-secret-manager.connection.hikari.*', type: 'string', default: '', status: 'later', meaning: 'SQL token store: Pool properties' },
    { name: 'zk-dt-secret-manager.zkConnectionString', type: 'list', default: '', status: 'later', meaning: 'Token ZooKeeper (separate from hadoop.zk.address)' },
    { name: 'zk-dt-secret-manager.znodeWorkingPath', type: 'string', default: 'zkdtsm', status: 'later', meaning: 'Parent of ZKDTSMRoot' },
    { name: 'zk-dt-secret-manager.zkNumRetries', type: 'int', default: '3', status: 'later', meaning: 'Retries' },
    { name: 'zk-dt-secret-manager.zkSessionTimeout', type: 'int', default: '10000', status: 'later', unit: 'ms', meaning: 'Session' },
    { name: 'zk-dt-secret-manager.zkConnectionTimeout', type: 'int', default: '10000', status: 'later', unit: 'ms', meaning: 'Connect' },
    { name: 'zk-dt-secret-manager.zkShutdownTimeout', type: 'int', default: '10000', status: 'later', unit: 'ms', meaning: 'Stop' },
    { name: 'zk-dt-secret-manager.zkAuthType', type: 'enum', default: '', status: 'later', allowed: ['none', 'sasl'], meaning: 'Auth' },
    { name: 'zk-dt-secret-manager.kerberos.keytab', type: 'string', default: '', status: 'later', meaning: 'JAAS' },
    { name: 'zk-dt-secret-manager.kerberos.principal', type: 'trimmed', default: '', status: 'later', meaning: 'JAAS' },
    { name: 'zk-dt-secret-manager.kerberos.server.principal', type: 'trimmed', default: '', status: 'later', meaning: 'ZK server' },
    { name: 'zk-dt-secret-manager.token.watcher.enabled', type: 'bool', default: 'true', status: 'later', meaning: 'Cache by watcher; false = polled' },
    { name: 'zk-dt-secret-manager.router.token.sync.interval', type: 'int', default: '5', status: 'later', unit: 's', meaning: 'Poll period' },
    { name: 'zk-dt-secret-manager.token.seqnum.batch.size', type: 'int', default: '100', status: 'later', meaning: 'Sequence batch' },
  ]),
];
