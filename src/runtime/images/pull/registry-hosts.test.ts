import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import { TEST_CERTIFICATE, testKey } from './fake/test-certificate.ts';
import { hostUrl, type RegistryHost } from './registry-host.ts';
import { loadRegistryHosts } from './registry-hosts.ts';

const CERTIFICATE = TEST_CERTIFICATE;
const KEY = testKey();

async function hostsOf(
  registry: string,
  files: Readonly<Record<string, string>> = {},
): Promise<readonly RegistryHost[]> {
  const { fs } = createMemoryHost();
  for (const [path, text] of Object.entries(files)) {
    await fs.makeDirectory(path.replace(/\/[^/]*$/, ''));
    await fs.writeFile(path, text);
  }
  return loadRegistryHosts(fs, ['/a', '/b'], registry);
}

/** The default endpoints: HTTPS, and on this machine either scheme. */
const DEFAULTS: Record<string, Partial<RegistryHost>> = {
  'docker.io': { scheme: 'https', authority: 'registry-1.docker.io', skipVerify: false, fallsBackToHttp: false },
  'registry.k8s.io': { scheme: 'https', authority: 'registry.k8s.io', skipVerify: false, fallsBackToHttp: false },
  'example.com:5000': { scheme: 'https', authority: 'example.com:5000', skipVerify: false, fallsBackToHttp: false },
  '10.0.0.1:5000': { scheme: 'https', authority: '10.0.0.1:5000', skipVerify: false, fallsBackToHttp: false },
  localhost: { scheme: 'https', authority: 'localhost', skipVerify: true, fallsBackToHttp: false },
  'localhost:443': { scheme: 'https', authority: 'localhost:443', skipVerify: true, fallsBackToHttp: false },
  'localhost:80': { scheme: 'http', authority: 'localhost:80', skipVerify: false, fallsBackToHttp: false },
  'localhost:5000': { scheme: 'https', authority: 'localhost:5000', skipVerify: true, fallsBackToHttp: true },
  '127.0.0.9:5000': { scheme: 'https', authority: '127.0.0.9:5000', skipVerify: true, fallsBackToHttp: true },
  '[::1]:5000': { scheme: 'https', authority: '[::1]:5000', skipVerify: true, fallsBackToHttp: true },
};

for (const [registry, expected] of Object.entries(DEFAULTS)) {
  test(`loadRegistryHosts() finds ${registry} without configuration`, async () => {
    const rest = { path: '/v2', capabilities: new Set(['pull', 'resolve']), tls: undefined, headers: [] };
    assert.deepEqual(await hostsOf(registry), [{ ...rest, dialTimeoutMs: undefined, ...expected }]);
  });
}

const server = (name: string): string => `server = "https://${name}"`;

/** Which directory is used, identified by the server in its file. */
const DIRECTORIES: Record<
  string,
  { readonly registry?: string; readonly files: readonly string[]; readonly found: string }
> = {
  'the one with the name of the registry': { files: ['/a/x.io/hosts.toml'], found: '/a/x.io/hosts.toml' },
  'the earlier one of two': { files: ['/b/x.io/hosts.toml', '/a/x.io/hosts.toml'], found: '/a/x.io/hosts.toml' },
  'the default one if no other exists': { files: ['/a/_default/hosts.toml'], found: '/a/_default/hosts.toml' },
  'a default of an earlier directory before a named one of a later directory': {
    files: ['/a/_default/hosts.toml', '/b/x.io/hosts.toml'],
    found: '/a/_default/hosts.toml',
  },
  'the one with the port behind a colon': {
    registry: 'x.io:5000',
    files: ['/a/x.io:5000/hosts.toml', '/a/x.io/hosts.toml'],
    found: '/a/x.io:5000/hosts.toml',
  },
  'the one with the port between underscores, first': {
    registry: 'x.io:5000',
    files: ['/a/x.io:5000/hosts.toml', '/a/x.io_5000_/hosts.toml'],
    found: '/a/x.io_5000_/hosts.toml',
  },
};

for (const [what, { registry = 'x.io', files, found }] of Object.entries(DIRECTORIES)) {
  test(`loadRegistryHosts() uses ${what}`, async () => {
    const names = Object.fromEntries(files.map((path, index) => [path, server(`s${index}`)]));
    const hosts = await hostsOf(registry, names);
    assert.deepEqual(hosts.map(hostUrl), [`https://s${files.indexOf(found)}/v2`]);
  });
}

test('loadRegistryHosts() reads the files of certificates and keys', async () => {
  const [mirror, registry] = await hostsOf('x.io', {
    '/a/x.io/hosts.toml': '[host."https://m"]\nca = ["ca.pem"]\nclient = [["c.cert", "c.key"], ["both.pem", ""]]',
    '/a/x.io/ca.pem': CERTIFICATE,
    '/a/x.io/c.cert': CERTIFICATE,
    '/a/x.io/c.key': KEY,
    '/a/x.io/both.pem': CERTIFICATE + KEY,
  });
  assert.deepEqual(mirror?.tls, {
    authorities: [CERTIFICATE],
    clientCertificates: [
      { certificate: CERTIFICATE, key: KEY },
      { certificate: CERTIFICATE + KEY, key: CERTIFICATE + KEY },
    ],
  });
  assert.equal(registry?.tls, undefined);
});

test('loadRegistryHosts() uses certificates in the layout of Docker', async () => {
  const [host, ...more] = await hostsOf('x.io', {
    '/b/x.io/ca.crt': CERTIFICATE,
    '/b/x.io/client.cert': CERTIFICATE,
    '/b/x.io/client.key': KEY,
    '/b/x.io/README': 'not a certificate',
  });
  const clientCertificates = [{ certificate: CERTIFICATE, key: KEY }];
  assert.deepEqual([host?.tls, more], [{ authorities: [CERTIFICATE], clientCertificates }, []]);
});

test('loadRegistryHosts() tries TLS first at an HTTP host with TLS settings', async () => {
  const [first, second] = await hostsOf('x.io', {
    '/a/x.io/hosts.toml': '[host."http://m:5000"]\nskip_verify = true\n[host."http://m:80"]\nskip_verify = true',
  });
  assert.deepEqual([first?.scheme, first?.fallsBackToHttp], ['https', true]);
  assert.deepEqual([second?.scheme, second?.fallsBackToHttp], ['http', false]);
});

const REJECTED: Record<string, { readonly files: Readonly<Record<string, string>>; readonly message: RegExp }> = {
  'a missing file': {
    files: { '/a/x.io/hosts.toml': 'ca = "none.pem"' },
    message: /^\/a\/x\.io\/none\.pem: /,
  },
  'a file without a certificate': {
    files: { '/a/x.io/hosts.toml': 'ca = "x.pem"', '/a/x.io/x.pem': 'something' },
    message: /^\/a\/x\.io\/x\.pem: contains no PEM certificate: /,
  },
  'a certificate without a key': {
    files: { '/a/x.io/client.cert': CERTIFICATE },
    message: /^\/a\/x\.io\/client\.cert: contains no PEM private key: /,
  },
  'an unknown field': {
    files: { '/a/x.io/hosts.toml': 'mirror = "y"' },
    message: /^\/a\/x\.io\/hosts\.toml: mirror: unknown field$/,
  },
};

for (const [what, { files, message }] of Object.entries(REJECTED)) {
  test(`loadRegistryHosts() rejects ${what}`, async () => {
    await assert.rejects(hostsOf('x.io', files), { name: 'HostsFileError', message });
  });
}
