/**
 * A tree that follows the journal of its nameservice, with the retry cache that edits fill: what a NameNode holds in memory, and the image
 * that one starts from.
 */
import { RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Edit } from './journal.ts';
import type { NamespaceOptions } from './namespace.ts';
import { Namespace } from './namespace.ts';
import type { Site } from './operation.ts';
import { RetryCache } from './retry-cache.ts';

export class Replica {
  readonly namespace: Namespace;
  readonly retryCache = new RetryCache();
  /** Position in the journal up to which the tree is current. */
  position = 0;

  constructor(options: NamespaceOptions) {
    this.namespace = new Namespace(options);
  }

  /** Does the edit at `position` again. Throws when the tree comes to another transaction than the active's did. */
  apply(edit: Edit, site: Site): void {
    const { namespace } = this;
    namespace.nowMs = edit.timeMs;
    namespace.replaying = true;
    try {
      const answer = edit.method.run(site, edit.request);
      if (edit.retryKey !== '') {
        this.retryCache.store(edit.retryKey, answer, edit.timeMs);
      }
    } catch (error) {
      // An operation may have changed something (released a lease) before it was refused; so does its repetition.
      if (!(error instanceof RemoteException)) {
        throw error;
      }
    } finally {
      namespace.replaying = false;
    }
    if (namespace.txid !== edit.txid) {
      throw new Error(`a replica of ${site.namenode.blockPoolId} has left the journal at transaction ${edit.txid}`);
    }
    this.position++;
  }
}
