import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { connectApiServer, readKubeconfig } from './api-server-client.ts';

const PATH = '/etc/kubelet.conf';
const never = new AbortController().signal;

async function setUp(cluster: object, user: object = {}) {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/etc');
  const config = {
    clusters: [{ name: 'c', cluster: { server: 'http://api.example', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  await host.fs.writeFile(PATH, JSON.stringify(config));
  host.network.names.set('api.example', ['10.0.0.1']);
  const pod = { metadata: { name: 'a' }, spec: {} };
  host.network.listen(
    { host: '10.0.0.1', port: 80 },
    { http: async () => ({ status: 200, body: JSON.stringify(pod) }) },
  );
  const connect = (environment: Readonly<Record<string, string>>) =>
    connectApiServer(
      PATH,
      { userAgent: 'nodelet/1', rate: { qps: 0, burst: 0 }, environment },
      { ...host, log: silentLog },
    );
  return { ...host, connect };
}

const KEY = { resource: 'pods', namespace: 'n', name: 'a' } as const;

test('connectApiServer() reaches the server of the kubeconfig', async () => {
  const { connect } = await setUp({});
  using api = await connect({});
  assert.equal((await api.get(KEY, never)).metadata.name, 'a');
});

test('connectApiServer() uses the proxy of the kubeconfig, or else of the environment', async () => {
  for (const [cluster, environment] of [
    [{}, { HTTP_PROXY: 'http://10.0.0.3:3128' }],
    [{ 'proxy-url': 'http://10.0.0.3:3128' }, { HTTP_PROXY: 'http://10.0.0.4:3128' }],
  ] as const) {
    const { connect, network } = await setUp(cluster);
    using api = await connect(environment);
    await assert.rejects(api.get(KEY, never), { reason: 'Unavailable', message: /ECONNREFUSED 10\.0\.0\.3:3128/ });
    network.listen({ host: '10.0.0.3', port: 3128 });
    assert.equal((await api.get(KEY, never)).metadata.name, 'a');
  }
});

test('connectApiServer() rejects an unsupported proxy', async () => {
  const { connect } = await setUp({});
  await assert.rejects(connect({ HTTP_PROXY: 'socks5://10.0.0.3' }), {
    name: 'KubeconfigError',
    message: /HTTP_PROXY/,
  });
});

test('readKubeconfig() requires the file and the files that it refers to', async () => {
  const { fs } = await setUp({ 'certificate-authority': 'ca.crt' });
  await assert.rejects(readKubeconfig('/etc/none', fs), {
    name: 'KubeconfigError',
    message: /^\/etc\/none: cannot be read: .*ENOENT/,
  });
  await assert.rejects(readKubeconfig(PATH, fs), {
    name: 'KubeconfigError',
    message: /^\/etc\/kubelet\.conf: unable to read certificate-authority \/etc\/ca\.crt: .*ENOENT/,
  });
  await fs.writeFile('/etc/ca.crt', 'CA');
  assert.deepEqual((await readKubeconfig(PATH, fs)).cluster.authority, { file: '/etc/ca.crt' });
});
