import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { modeText, quotaText, sortByPath } from '../../admin/mount-rules.ts';
import type { UsageFigures } from '../../admin/parts.ts';
import type { Log } from '../../control/log.ts';
import type { MountEntry, MountQuota } from '../../mount/entry.ts';
import { dateText } from './dates.ts';
import { WrittenText } from './values.ts';

/** Entries that are made into text before other events have their turn. */
const ENTRIES_PER_TURN = 250;
/** Changes that follow within this time are taken in together: each making looks at all entries. */
const COALESCE_MS = 300;
/** After that time a look makes it anew: usage of quotas has no news. */
const FRESH_MS = 10_000;

export interface MountTextOptions {
  /** Throws while the State Store has not been read. */
  entries(): readonly MountEntry[];
  readonly usage: UsageFigures;
  readonly log: Log;
}

/**
 * The mount table as one attribute has it: JSON in a text, megabytes with thousands of entries. Made in the background when the table
 * changes, in turns; until it is done the one before counts. The text of an entry that stays is kept.
 */
export class MountText {
  text = new WrittenText(Buffer.from('"[]"'));
  readonly #options: MountTextOptions;
  readonly #texts = new WeakMap<MountEntry, { readonly usage: string; readonly text: string }>();
  #isMaking = false;
  #isStale = false;
  #isStopped = false;
  #madeMs = Number.NEGATIVE_INFINITY;

  constructor(options: MountTextOptions) {
    this.#options = options;
  }

  /** Somebody looks. */
  look(): WrittenText {
    if (performance.now() - this.#madeMs > FRESH_MS) this.onChange();
    return this.text;
  }

  /** The table may have changed. */
  onChange(): void {
    this.#isStale = true;
    if (!this.#isMaking && !this.#isStopped) void this.#makeAll();
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Never rejects. */
  async #makeAll(): Promise<void> {
    this.#isMaking = true;
    try {
      while (this.#isStale && !this.#isStopped) {
        this.#isStale = false;
        this.#madeMs = performance.now();
        await this.#make();
        await sleep(COALESCE_MS, null, { ref: false });
      }
    } catch (error) {
      this.#options.log.debug({ err: error }, 'JMX: no mount table yet');
    }
    this.#isMaking = false;
  }

  async #make(): Promise<void> {
    await nextTurn();
    const entries = sortByPath(this.#options.entries());
    const pieces: Buffer[] = [];
    for (let at = 0; at < entries.length; at += ENTRIES_PER_TURN) {
      const texts = entries.slice(at, at + ENTRIES_PER_TURN).map((entry) => this.#textOf(entry));
      pieces.push(Buffer.from(`${at === 0 ? '' : ','}${texts.join(',')}`));
      await nextTurn();
    }
    this.text = new WrittenText(Buffer.concat([Buffer.from('"['), ...pieces, Buffer.from(']"')]));
  }

  /** With the quotes of its JSON escaped, as it stands inside a text. */
  #textOf(entry: MountEntry): string {
    const usage = quotaText(this.#quotaOf(entry));
    const known = this.#texts.get(entry);
    if (known?.usage === usage) return known.text;
    const text = JSON.stringify(JSON.stringify(viewMount(entry, usage))).slice(1, -1);
    this.#texts.set(entry, { usage, text });
    return text;
  }

  #quotaOf({ sourcePath, quota }: MountEntry): MountQuota {
    const used = this.#options.usage.usageOf(sourcePath);
    if (used === null) return quota;
    const types = quota.types.map((type) => ({ ...type, consumed: used.types[type.type] ?? type.consumed }));
    return { ...quota, fileAndDirectoryCount: used.files, spaceConsumed: used.bytes, types };
  }
}

function viewMount(entry: MountEntry, quota: string): object {
  const { destinations, order } = entry;
  const nameservices = [...new Set(destinations.map(({ nameservice }) => nameservice))];
  const paths = [...new Set(destinations.map(({ path }) => path))];
  return {
    sourcePath: entry.sourcePath,
    destinations: destinations.map(({ nameservice, path }) => `${nameservice}->${path}`),
    nameserviceId: nameservices.join(','),
    path: paths.join(','),
    destOrder: order,
    order: nameservices.length > 1 ? order : '',
    readonly: entry.readOnly,
    faulttolerant: entry.faultTolerant,
    ownerName: entry.owner,
    groupName: entry.group,
    mode: modeText(entry.mode),
    quota,
    dateCreated: dateText(entry.dateCreated),
    dateModified: dateText(entry.dateModified),
  };
}
