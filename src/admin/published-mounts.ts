import type { ChangeResult, MountChange, MountRecords } from '../control/store/mount-records.ts';
import type { MountEntry } from '../mount/entry.ts';
import type { MountAdmin } from './parts.ts';

/** Mount entries whose changes are answered when the threads of this router go by them: the administrator's next call meets the new table. */
export class PublishedMounts implements MountAdmin {
  readonly #records: MountRecords;
  readonly #published: () => Promise<boolean>;

  /** `published` resolves when all changes so far are in force, or when that takes too long. */
  constructor(records: MountRecords, published: () => Promise<boolean>) {
    this.#records = records;
    this.#published = published;
  }

  entries(): MountEntry[] {
    return this.#records.entries();
  }

  find(sourcePath: string): MountEntry | null {
    return this.#records.find(sourcePath);
  }

  async add(entry: MountEntry): Promise<ChangeResult> {
    return await this.#after(this.#records.add(entry));
  }

  async addAll(entries: readonly MountEntry[]): Promise<ChangeResult[]> {
    return await this.#after(this.#records.addAll(entries));
  }

  async update(sourcePath: string, change: MountChange): Promise<ChangeResult> {
    return await this.#after(this.#records.update(sourcePath, change));
  }

  async remove(sourcePath: string): Promise<boolean> {
    return await this.#after(this.#records.remove(sourcePath));
  }

  async #after<T>(change: Promise<T>): Promise<T> {
    const result = await change;
    await this.#published();
    return result;
  }
}
