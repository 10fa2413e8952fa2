import type { MethodClient } from './method-cluster.ts';

const CREATE = 1;
const BLOCK_BYTES = 1 << 20;

/** Makes files, and directories (paths that end with `/`), with all that is missing above them. */
export async function makeTree(client: MethodClient, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    if (path.endsWith('/')) {
      const src = path === '/' ? path : path.slice(0, -1);
      await client.call('ClientProtocol.mkdirs', { src, masked: { perm: 0o755 }, createParent: true });
    } else {
      await client.call('ClientProtocol.create', {
        src: path,
        masked: { perm: 0o644 },
        clientName: 'tree',
        createFlag: CREATE,
        createParent: true,
        replication: 1,
        blockSize: BLOCK_BYTES,
      });
    }
  }
}
