import assert from 'node:assert/strict';
import test from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { readCredentialProviders } from './credential-provider-config.ts';

const HEADER = { apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig' };
const PROVIDER = {
  name: 'shop',
  matchImages: ['*.example.com'],
  defaultCacheDuration: '12h',
  apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
};

async function read(files: Record<string, unknown>, config = '/etc/providers.yaml') {
  const { fs } = createMemoryHost();
  for (const folder of ['/etc/providers', '/opt/bin']) await fs.makeDirectory(folder);
  for (const program of ['shop', 'mall']) await fs.writeFile(`/opt/bin/${program}`, '', { mode: 0o755 });
  await fs.writeFile('/opt/bin/text', '', { mode: 0o644 });
  for (const [path, content] of Object.entries(files)) {
    await fs.writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  }
  return readCredentialProviders({ config, binDir: '/opt/bin' }, fs, { PATH: '/bin', SHOP: 'closed', NONE: undefined });
}

const one = (provider: object) => ({ '/etc/providers.yaml': { ...HEADER, providers: [provider] } });

test('readCredentialProviders() reads a file, in YAML too', async () => {
  const text = `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: shop
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ["*.example.com", "localhost:5000/team"]
  defaultCacheDuration: 1m30s
  args: [--region, here]
  env: [{name: SHOP, value: open}]
`;
  assert.deepEqual(await read({ '/etc/providers.yaml': text }), [
    {
      name: 'shop',
      program: '/opt/bin/shop',
      args: ['--region', 'here'],
      env: { PATH: '/bin', SHOP: 'open' },
      matchImages: ['*.example.com', 'localhost:5000/team'],
      defaultCacheMs: 90_000,
      apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
    },
  ]);
});

test('readCredentialProviders() reads the files of a folder in their order', async () => {
  const files = {
    '/etc/providers/b.yml': { ...HEADER, providers: [PROVIDER] },
    '/etc/providers/a.json': { ...HEADER, providers: [{ ...PROVIDER, name: 'mall' }] },
    '/etc/providers/c.txt': 'nothing of ours',
  };
  assert.deepEqual(
    (await read(files, '/etc/providers')).map(({ name }) => name),
    ['mall', 'shop'],
  );
  const twice = { ...files, '/etc/providers/c.yaml': { ...HEADER, providers: [PROVIDER] } };
  await assert.rejects(read(twice, '/etc/providers'), {
    name: 'ProviderConfigError',
    message: 'duplicate provider name "shop" found in configuration file(s)',
  });
  await assert.rejects(read({}, '/etc/providers'), {
    message: 'no configuration files found in directory "/etc/providers"',
  });
});

const DECODING = 'error decoding config "/etc/providers.yaml"';
const INVALID = 'failed to validate credential provider config';
const refused: Record<string, { files: Record<string, unknown>; message: string }> = {
  'a file that is not there': {
    files: {},
    message: 'unable to access path "/etc/providers.yaml": stat /etc/providers.yaml: no such file or directory',
  },
  'broken YAML, without a word of what may be a secret': {
    files: { '/etc/providers.yaml': 'providers:\n- env: [{name: TOKEN, value: secret}\n' },
    message: `${DECODING}: yaml: line 3: Flow sequence in block collection must be sufficiently indented and end with a ]`,
  },
  'another kind': {
    files: { '/etc/providers.yaml': { ...HEADER, kind: 'KubeletConfiguration' } },
    message: `${DECODING}: failed to decode "KubeletConfiguration" (wrong Kind)`,
  },
  'another version': {
    files: { '/etc/providers.yaml': { ...HEADER, apiVersion: 'kubelet.config.k8s.io/v9' } },
    message: `${DECODING}: no kind "CredentialProviderConfig" is registered for version "kubelet.config.k8s.io/v9"`,
  },
  'an unknown field': {
    files: one({ ...PROVIDER, nmae: 'x' }),
    message: `${DECODING}: strict decoding error: unknown field "providers[0].nmae"`,
  },
  'a broken duration': {
    files: one({ ...PROVIDER, defaultCacheDuration: '12 hours' }),
    message: `${DECODING}: time: unknown unit " hours" in duration "12 hours"`,
  },
  'no providers': {
    files: { '/etc/providers.yaml': HEADER },
    message: `${INVALID}: providers: Required value: at least 1 item in plugins is required`,
  },
  'a name with a slash': {
    files: one({ ...PROVIDER, name: '../shop' }),
    message: `${INVALID}: providers.name: Invalid value: "../shop": provider name cannot contain '/'`,
  },
  'nothing but a name': {
    files: one({ name: 'shop' }),
    message: `${INVALID}: [providers.apiVersion: Required value, providers.matchImages: Required value: at least 1 item in matchImages is required, providers.defaultCacheDuration: Required value]`,
  },
  'another exchange': {
    files: one({ ...PROVIDER, apiVersion: 'v1' }),
    message: `${INVALID}: providers.apiVersion: Unsupported value: "v1": supported values: "credentialprovider.kubelet.k8s.io/v1", "credentialprovider.kubelet.k8s.io/v1alpha1", "credentialprovider.kubelet.k8s.io/v1beta1"`,
  },
  'an image pattern that is none': {
    files: one({ ...PROVIDER, matchImages: ['a b'] }),
    message: `${INVALID}: providers.matchImages: Invalid value: "a b": match image is invalid: parse "https://a b": invalid character " " in host name`,
  },
  'a duration below zero': {
    files: one({ ...PROVIDER, defaultCacheDuration: '-1s' }),
    message: `${INVALID}: providers.defaultCacheDuration: Invalid value: "-1s": must be greater than or equal to 0`,
  },
  'service account tokens, for now': {
    files: one({ ...PROVIDER, tokenAttributes: { serviceAccountTokenAudience: 'x' } }),
    message: `${INVALID}: providers.tokenAttributes: Forbidden: provider "shop" asks for service account tokens, which Nodelet does not support yet`,
  },
  'a program that is not there': {
    files: one({ ...PROVIDER, name: 'none' }),
    message: 'plugin binary executable /opt/bin/none did not exist',
  },
  'a program that is none': {
    files: one({ ...PROVIDER, name: 'text' }),
    message: 'error inspecting binary executable /opt/bin/text: permission denied',
  },
};

for (const [name, { files, message }] of Object.entries(refused)) {
  test(`readCredentialProviders() refuses ${name}`, async () => {
    await assert.rejects(read(files), { name: 'ProviderConfigError', message });
  });
}

test('readCredentialProviders() refuses a folder of programs that is not there', async () => {
  const { fs } = createMemoryHost();
  await assert.rejects(readCredentialProviders({ config: '', binDir: '/opt/none' }, fs, {}), {
    message: 'plugin binary directory /opt/none did not exist',
  });
  await fs.makeDirectory('/opt/none');
  await assert.rejects(readCredentialProviders({ config: '', binDir: '/opt/none' }, fs, {}), {
    message: 'credential provider config path is empty',
  });
});
