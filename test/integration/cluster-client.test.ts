/** The client with a real kube-apiserver: outages and authentication. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import type { ApiServer } from '../../src/kubelet/api-client/api-server.ts';
import type { HttpApiServer } from '../../src/kubelet/api-client/http-api-server.ts';
import { type ObjectChange, runReflector } from '../../src/kubelet/api-client/reflector.ts';
import { connectTo, startRelay } from './cluster-client-fixture.ts';
import { type ControlPlane, clusterSkipReason, startControlPlane } from './cluster-fixture.ts';
import { until } from './until.ts';

const ACCOUNT = { namespace: 'default', name: 'default' };
const patience = (): AbortSignal => AbortSignal.timeout(60_000);

const mapOf = (name: string, data: Record<string, string> = {}) => ({ metadata: { name, namespace: 'default' }, data });
const keyOf = (name: string) => ({ resource: 'configmaps', namespace: 'default', name }) as const;

const openssl = (...args: readonly string[]): void =>
  void execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });

describe('the client of an API server', { skip: clusterSkipReason() }, () => {
  let plane: ControlPlane;
  let api: HttpApiServer;
  before(async () => {
    plane = await startControlPlane();
    api = await connectTo(plane.kubeconfig());
  });
  after(async () => {
    api?.[Symbol.dispose]();
    await plane?.stop();
  });

  /** A kubeconfig for this server, in a directory of the control plane. */
  const kubeconfigOf = (name: string, user: object, cluster: object = {}): string => {
    const path = join(plane.folder, `${name}.kubeconfig`);
    const config = {
      clusters: [{ name, cluster: { server: plane.url, 'certificate-authority': plane.authority.caFile, ...cluster } }],
      users: [{ name, user }],
      contexts: [{ name, context: { cluster: name, user: name } }],
      'current-context': name,
    };
    writeFileSync(path, JSON.stringify(config));
    return path;
  };
  const canRead = (client: ApiServer): Promise<unknown> => client.get(keyOf('kube-root-ca.crt'), patience());

  test('no event is lost or duplicated through an outage', async () => {
    const end = new AbortController();
    const received: string[] = [];
    const known = new Set<string>();
    const receive = (type: string, name: string): void => {
      received.push(`${type} ${name}`);
      if (type === 'DELETED') known.delete(name);
      else known.add(name);
    };
    const handler = {
      // After an outage the server may not know our resource version: everything is listed again, and new objects are events.
      onList(objects: readonly { metadata: { name: string } }[]) {
        const names = objects.map(({ metadata }) => metadata.name);
        const type = known.size === 0 ? 'listed' : 'ADDED';
        for (const name of names.filter((each) => !known.has(each))) receive(type, name);
        for (const name of [...known].filter((each) => !names.includes(each))) receive('DELETED', name);
      },
      onChange: ({ type, object }: ObjectChange<{ metadata: { name: string } }>) => receive(type, object.metadata.name),
    };
    const receives = (text: string): Promise<true> => until(() => received.includes(text));
    const selection = { resource: 'configmaps', namespace: 'default' } as const;
    const deps = { ...createLinuxHost(process.env), api, log: silentLog };
    const following = runReflector(selection, handler, deps, end.signal);
    await receives('listed kube-root-ca.crt');
    await api.create(keyOf('a'), mapOf('a'), patience());
    await receives('ADDED a');
    await plane.pause();
    await assert.rejects(canRead(api), { reason: 'Unavailable' });
    await plane.resume();
    await api.create(keyOf('b'), mapOf('b'), patience());
    await api.delete(keyOf('a'), {}, patience());
    await receives('DELETED a');
    end.abort();
    await following;
    assert.deepEqual(received, ['listed kube-root-ca.crt', 'ADDED a', 'ADDED b', 'DELETED a']);
    await api.delete(keyOf('b'), {}, patience());
  });

  test('a token is read again from its file when it is replaced', async () => {
    await plane.kubectl(
      'create',
      'clusterrolebinding',
      'reader',
      '--clusterrole=cluster-admin',
      '--serviceaccount=default:default',
    );
    await plane.allowed({ user: 'system:serviceaccount:default:default' }, 'get', 'configmaps');
    const file = join(plane.folder, 'token');
    writeFileSync(file, 'nonsense');
    using client = await connectTo(kubeconfigOf('by-token', { tokenFile: 'token' }));
    await assert.rejects(canRead(client), { reason: 'Unauthorized' });
    writeFileSync(file, (await api.createToken(ACCOUNT, {}, patience())).token);
    await canRead(client);
  });

  test('token and access reviews', async () => {
    const { token } = await api.createToken(ACCOUNT, {}, patience());
    const { authenticated, user } = await api.reviewToken({ token }, patience());
    assert.deepEqual([authenticated, user?.username], [true, 'system:serviceaccount:default:default']);
    assert.equal((await api.reviewToken({ token: 'nonsense' }, patience())).authenticated ?? false, false);
    const may = async (name: string, verb: string) => {
      const resourceAttributes = { resource: 'nodes', subresource: 'proxy', name: 'box', verb };
      return (await api.reviewAccess({ user: name, resourceAttributes }, patience())).allowed;
    };
    assert.deepEqual(
      [await may('stranger', 'get'), await may('system:serviceaccount:default:default', 'get')],
      [false, true],
    );
  });

  test('an exec plugin authenticates with a token or a certificate', async () => {
    const { certFile, keyFile } = plane.authority.issue({ user: 'plugged', groups: ['system:masters'] });
    const answers = {
      token: { token: (await api.createToken(ACCOUNT, {}, patience())).token },
      pair: { clientCertificateData: readFileSync(certFile, 'utf8'), clientKeyData: readFileSync(keyFile, 'utf8') },
    };
    const apiVersion = 'client.authentication.k8s.io/v1';
    for (const [name, status] of Object.entries(answers)) {
      const answer = join(plane.folder, `${name}.json`);
      writeFileSync(answer, JSON.stringify({ kind: 'ExecCredential', apiVersion, status }));
      const script = join(plane.folder, `${name}.sh`);
      writeFileSync(script, `#!/bin/sh\ncase "$KUBERNETES_EXEC_INFO" in *"$1"*) cat ${answer};; esac\n`);
      chmodSync(script, 0o755);
      const exec = {
        apiVersion,
        command: `./${name}.sh`,
        args: [plane.url],
        provideClusterInfo: true,
        interactiveMode: 'Never',
      };
      using client = await connectTo(kubeconfigOf(`by-${name}`, { exec }));
      await canRead(client);
    }
  });

  test('an expired certificate is rejected, and its renewal is read from the same file', async () => {
    const [certificate, key] = [join(plane.folder, 'node.crt'), join(plane.folder, 'node.key')];
    const request = join(plane.folder, 'node.csr');
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key];
    openssl('req', '-new', ...newKey, '-out', request, '-subj', '/O=system:masters/CN=admin');
    const authority = ['-CA', plane.authority.caFile, '-CAkey', join(plane.folder, 'pki/ca.key'), '-CAcreateserial'];
    openssl('x509', '-req', '-in', request, '-days', '-1', ...authority, '-out', certificate);
    using client = await connectTo(kubeconfigOf('by-pair', { 'client-certificate': certificate, 'client-key': key }));
    await assert.rejects(canRead(client), { reason: 'Unauthorized' });
    const good = plane.authority.issue({ user: 'admin', groups: ['system:masters'] });
    copyFileSync(good.keyFile, key);
    copyFileSync(good.certFile, certificate);
    await canRead(client);
  });

  test('a server is reached through a proxy, which resolves its name', async () => {
    const asked: (string | undefined)[] = [];
    const proxy = createServer().on('connect', (request, client) => {
      asked.push(request.url);
      const server = connect(Number(new URL(plane.url).port), '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        client.pipe(server).pipe(client);
      });
      client.on('error', () => server.destroy());
      server.on('error', () => client.destroy());
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { certFile, keyFile } = plane.authority.issue({ user: 'admin', groups: ['system:masters'] });
    const { port } = proxy.address() as AddressInfo; // the proxy listens on TCP
    const cluster = {
      server: 'https://api.cluster.test:6443',
      'tls-server-name': 'localhost',
      'proxy-url': `http://127.0.0.1:${port}`,
    };
    const user = { 'client-certificate': certFile, 'client-key': keyFile };
    using client = await connectTo(kubeconfigOf('by-proxy', user, cluster));
    for (let left = 3; left > 0; left--) await canRead(client);
    proxy.close();
    assert.deepEqual(asked, ['api.cluster.test:6443']);
  });

  test('a watch ends when the certificate changes, and the next one resumes', async () => {
    const pair = join(plane.folder, 'current.pem');
    const write = (user: string): void => {
      const { certFile, keyFile } = plane.authority.issue({ user, groups: ['system:masters'] });
      writeFileSync(pair, readFileSync(certFile, 'utf8') + readFileSync(keyFile, 'utf8'));
    };
    write('first');
    using client = await connectTo(kubeconfigOf('by-current', { 'client-certificate': pair, 'client-key': pair }));
    const selection = { resource: 'configmaps', namespace: 'default', fieldSelector: 'metadata.name=turn' } as const;
    const { resourceVersion } = await client.list(selection, patience());
    const received: string[] = [];
    const watch = async (): Promise<void> => {
      const events = client.watch({ ...selection, resourceVersion }, patience());
      for await (const { type } of events) if (type !== 'BOOKMARK') received.push(type);
      received.push('over');
    };
    const watching = watch();
    await client.create(keyOf('turn'), mapOf('turn'), patience());
    await until(() => received.includes('ADDED'));
    write('second');
    await until(async () => {
      await canRead(client);
      return received.includes('over');
    });
    await watching;
    assert.deepEqual(received, ['ADDED', 'over']);
  });

  test('watches share a connection up to the stream limit of the server', async () => {
    using relay = await startRelay(plane.url);
    const { certFile, keyFile } = plane.authority.issue({ user: 'admin', groups: ['system:masters'] });
    const user = { 'client-certificate': certFile, 'client-key': keyFile };
    using client = await connectTo(kubeconfigOf('by-relay', user, { server: relay.url }));
    const end = new AbortController();
    const selection = { resource: 'configmaps', fieldSelector: 'metadata.name=shared', resourceVersion: '0' } as const;
    type Watch = AsyncIterator<{ readonly type: string }>;
    const watching = (): Watch =>
      client.watch({ ...selection, namespace: 'default' }, end.signal)[Symbol.asyncIterator]();
    const changeOf = async (watch: Watch): Promise<string> => {
      const { type } = (await watch.next()).value;
      return type === 'BOOKMARK' ? changeOf(watch) : type;
    };
    const changesOf = (watches: readonly Watch[]): Promise<readonly string[]> => Promise.all(watches.map(changeOf));

    await client.create(keyOf('shared'), mapOf('shared'), patience());
    const some = Array.from({ length: 80 }, watching);
    assert.deepEqual(new Set(await changesOf(some)), new Set(['ADDED']));
    assert.equal(relay.made(), 1);

    const all = [...some, ...Array.from({ length: 170 }, watching)];
    assert.deepEqual(new Set(await changesOf(all.slice(some.length))), new Set(['ADDED']));
    await client.delete(keyOf('shared'), {}, patience());
    assert.deepEqual(await changesOf(all), Array(250).fill('DELETED'));
    assert.equal(relay.made(), 3); // the server allows 100 streams each

    end.abort();
    await Promise.allSettled(all.map((watch) => watch.next()));
    await canRead(client);
    assert.equal(relay.made(), 3);
  });
});
