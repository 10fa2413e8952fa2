import { afterEach, describe, expect, it } from 'vitest';
import { HdfsClient } from '../../src/control/hdfs-client.ts';
import { disposeOpened } from '../support/dispose-opened.ts';
import { bodyOf, failure, type Request, ScriptedServer, statusOf, success } from '../support/scripted-rpc-server.ts';

const opened: Disposable[] = [];
afterEach(() => disposeOpened(opened));

describe('HdfsClient', () => {
  /** Answers by method; keeps the requests. */
  async function namenode(
    answers: Record<string, (request: Request) => [string, object]>,
  ): Promise<[HdfsClient, ScriptedServer]> {
    const server = await ScriptedServer.listen((request, socket) => {
      if (request.method !== '') {
        const [type, response] = answers[request.method]!(request);
        socket.write(success(request, type, response));
      }
    });
    opened.push(server);
    return [new HdfsClient(await server.connect()), server];
  }

  it('creates an empty file and completes it, asking again when the NameNode is not ready', async () => {
    let completions = 0;
    const [hdfs, server] = await namenode({
      create: () => [
        'hadoop.hdfs.CreateResponseProto',
        { fs: { ...statusOf(''), fileType: 'IS_FILE', fileId: 42, namespace: 'ns1' } },
      ],
      complete: () => ['hadoop.hdfs.CompleteResponseProto', { result: ++completions === 2 }],
    });
    expect(await hdfs.createEmptyFile('/f', { overwrite: true })).toMatchObject({ fileId: 42, namespace: 'ns1' });
    const requests = server.requests.filter((request) => request.method !== '');
    expect(requests.map((request) => request.method)).toEqual(['create', 'complete', 'complete']);
    const created = bodyOf(requests[0]!, 'hadoop.hdfs.CreateRequestProto');
    expect(created).toMatchObject({
      src: '/f',
      createFlag: 3,
      createParent: true,
      masked: { perm: 0o644 },
      clientName: hdfs.clientName,
    });
    expect(bodyOf(requests[2]!, 'hadoop.hdfs.CompleteRequestProto')).toEqual({
      src: '/f',
      clientName: hdfs.clientName,
      fileId: 42,
    });
  });

  it('lists all pages', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const [hdfs, server] = await namenode({
      getListing: (request) => {
        const { startAfter, src } = bodyOf(request, 'hadoop.hdfs.GetListingRequestProto') as {
          startAfter: Buffer;
          src: string;
        };
        if (src !== '/d') return ['hadoop.hdfs.GetListingResponseProto', {}];
        const rest = names.filter((name) => name > startAfter.toString());
        const page = rest.slice(0, 2).map((name) => statusOf(name));
        return [
          'hadoop.hdfs.GetListingResponseProto',
          { dirList: { partialListing: page, remainingEntries: rest.length - page.length } },
        ];
      },
    });
    expect((await hdfs.list('/d'))!.map((entry) => entry.path.toString())).toEqual(names);
    expect(server.requests.length).toBe(1 + 3);
    expect(await hdfs.list('/none')).toBeUndefined();
  });

  it('refuses a listing that goes in circles', async () => {
    const [hdfs] = await namenode({
      getListing: () => [
        'hadoop.hdfs.GetListingResponseProto',
        { dirList: { partialListing: [statusOf('a')], remainingEntries: 1 } },
      ],
    });
    expect((await failure(hdfs.list('/d'))).message).toBe('the listing of /d does not advance beyond a');
  });

  it('the other operations', async () => {
    const [hdfs, server] = await namenode({
      mkdirs: () => ['hadoop.hdfs.MkdirsResponseProto', { result: true }],
      getFileInfo: () => ['hadoop.hdfs.GetFileInfoResponseProto', {}],
      delete: () => ['hadoop.hdfs.DeleteResponseProto', { result: false }],
      rename: () => ['hadoop.hdfs.RenameResponseProto', { result: true }],
      getHAServiceState: () => ['hadoop.hdfs.HAServiceStateResponseProto', { state: 'OBSERVER' }],
      versionRequest: () => [
        'hadoop.hdfs.VersionResponseProto',
        {
          info: {
            buildVersion: 'r1',
            unused: 0,
            blockPoolID: 'BP-1',
            softwareVersion: '3.4.1',
            storageInfo: { layoutVersion: -67, namespceID: 5, clusterID: 'CID-1', cTime: 1_700_000_000_000 },
          },
        },
      ],
    });
    expect(await hdfs.mkdirs('/a')).toBe(true);
    expect(await hdfs.getFileInfo('/a')).toBeUndefined();
    expect(await hdfs.delete('/a', true)).toBe(false);
    expect(await hdfs.rename('/a', '/b')).toBe(true);
    expect(await hdfs.getHAServiceState()).toBe('OBSERVER');
    expect(await hdfs.versionRequest()).toMatchObject({
      blockPoolID: 'BP-1',
      storageInfo: { layoutVersion: -67, cTime: 1_700_000_000_000 },
    });
    const requests = server.requests.filter((request) => request.method !== '');
    expect(bodyOf(requests[2]!, 'hadoop.hdfs.DeleteRequestProto')).toEqual({ src: '/a', recursive: true });
    expect(bodyOf(requests[3]!, 'hadoop.hdfs.RenameRequestProto')).toEqual({ src: '/a', dst: '/b' });
  });
});
