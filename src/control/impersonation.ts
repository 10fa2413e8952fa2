import type { Configuration } from '../config/configuration.ts';
import { Groups, readGroupOptions } from '../config/groups.ts';
import {
  mayImpersonate,
  needsGroups,
  type ProxyUserRules,
  readProxyUsers,
  resolveHostNames,
} from '../config/proxy-users.ts';
import type { ClientIdentity } from '../handoff/link.ts';

/** Decides whether a real user may act for the effective one (`hadoop.proxyuser.*`); asked by acceptors for such connections only. */
export class Impersonation {
  #rules: Promise<ProxyUserRules>;
  readonly #groups: Groups;

  constructor(configuration: Configuration, groups: Groups = new Groups(readGroupOptions(configuration))) {
    this.#rules = resolveHostNames(readProxyUsers(configuration));
    this.#groups = groups;
  }

  /** Goes by the rules of this configuration from now on. Rejects when they cannot be used; then the old ones stay. */
  async reload(configuration: Configuration): Promise<void> {
    const rules = await resolveHostNames(readProxyUsers(configuration));
    this.#rules = Promise.resolve(rules);
    this.#groups.clear();
  }

  /** Null when allowed, else the message of Java's AuthorizationException. */
  async refusalOf({ user, realUser, address }: Omit<ClientIdentity, 'port'>): Promise<string | null> {
    try {
      const rules = await this.#rules;
      const groups = needsGroups(rules, realUser, user) ? await this.#groups.groupsOf(user) : [];
      return mayImpersonate(rules, realUser, user, groups, address);
    } catch (error) {
      // Of the rules' hosts or the user's groups: the error says which.
      return `User: ${realUser} is not allowed to impersonate ${user}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
}
