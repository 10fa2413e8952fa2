import { ADMIN_PROTOCOL, mountMessageOf } from '../../src/admin/messages.ts';
import { RpcClient } from '../../src/control/rpc-client.ts';
import type { MountEntry } from '../../src/mount/entry.ts';
import { USER } from './mount-table.ts';

/** Changes mount entries through the admin port of a router, as `hdfs dfsrouteradmin` does. */
export class Administrator implements Disposable {
  readonly #client: RpcClient;

  private constructor(client: RpcClient) {
    this.#client = client;
  }

  static async connect(port: number): Promise<Administrator> {
    return new Administrator(
      await RpcClient.connect({ host: '127.0.0.1', port, user: USER, protocol: ADMIN_PROTOCOL }),
    );
  }

  async add(entry: MountEntry): Promise<void> {
    await this.#change('AddMountTableEntry', { entry: mountMessageOf(entry) }, entry.sourcePath);
  }

  async update(entry: MountEntry): Promise<void> {
    await this.#change('UpdateMountTableEntry', { entry: mountMessageOf(entry) }, entry.sourcePath);
  }

  async remove(srcPath: string): Promise<void> {
    await this.#change('RemoveMountTableEntry', { srcPath }, srcPath);
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  async #change(stem: string, request: object, sourcePath: string): Promise<void> {
    const method = `${stem.charAt(0).toLowerCase()}${stem.slice(1)}`;
    const types = [`hadoop.hdfs.${stem}RequestProto`, `hadoop.hdfs.${stem}ResponseProto`] as const;
    const { response } = await this.#client.call<{ status?: boolean }>(ADMIN_PROTOCOL, method, ...types, request);
    if (response.status !== true) throw new Error(`${method} of ${sourcePath}: the router declined`);
  }
}
