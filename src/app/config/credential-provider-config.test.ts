import assert from 'node:assert/strict';
import test from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { readCredentialProviders } from './credential-provider-config.ts';
import type { TokenSupport } from './validate-token-attributes.ts';

const HEADER = { apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig' };
const PROVIDER = {
  name: 'shop',
  matchImages: ['*.example.com'],
  defaultCacheDuration: '12h',
  apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
};

async function read(
  files: Record<string, unknown>,
  config = '/etc/providers.yaml',
  tokens: TokenSupport = 'available',
) {
  const { fs } = createMemoryHost();
  for (const folder of ['/etc/providers', '/opt/bin']) await fs.makeDirectory(folder);
  for (const program of ['shop', 'mall']) await fs.writeFile(`/opt/bin/${program}`, '', { mode: 0o755 });
  await fs.writeFile('/opt/bin/text', '', { mode: 0o644 });
  for (const [path, content] of Object.entries(files)) {
    await fs.writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  }
  const environment = { PATH: '/bin', SHOP: 'closed', NONE: undefined };
  return readCredentialProviders({ config, binDir: '/opt/bin' }, fs, environment, tokens);
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
  'an invalid image pattern': {
    files: one({ ...PROVIDER, matchImages: ['a b'] }),
    message: `${INVALID}: providers.matchImages: Invalid value: "a b": match image is invalid: parse "https://a b": invalid character " " in host name`,
  },
  'a duration below zero': {
    files: one({ ...PROVIDER, defaultCacheDuration: '-1s' }),
    message: `${INVALID}: providers.defaultCacheDuration: Invalid value: "-1s": must be greater than or equal to 0`,
  },
  'a program that is not there': {
    files: one({ ...PROVIDER, name: 'none' }),
    message: 'plugin binary executable /opt/bin/none did not exist',
  },
  'a program that is not a file': {
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
  await assert.rejects(readCredentialProviders({ config: '', binDir: '/opt/none' }, fs, {}, 'available'), {
    message: 'plugin binary directory /opt/none did not exist',
  });
  await fs.makeDirectory('/opt/none');
  await assert.rejects(readCredentialProviders({ config: '', binDir: '/opt/none' }, fs, {}, 'available'), {
    message: 'credential provider config path is empty',
  });
});

const ATTRIBUTES = { serviceAccountTokenAudience: 'registry', cacheType: 'Token', requireServiceAccount: true };
const withTokens = (change: object, provider: object = {}) =>
  one({ ...PROVIDER, tokenAttributes: { ...ATTRIBUTES, ...change }, ...provider });

test('readCredentialProviders() reads what a provider wants of service accounts', async () => {
  const keys = {
    requiredServiceAccountAnnotationKeys: ['example.com/team'],
    optionalServiceAccountAnnotationKeys: ['Region'],
  };
  const [{ tokenAttributes } = assert.fail('no provider')] = await read(withTokens(keys));
  assert.deepEqual(tokenAttributes, {
    audience: 'registry',
    cacheType: 'Token',
    requireServiceAccount: true,
    requiredAnnotations: ['example.com/team'],
    optionalAnnotations: ['Region'],
  });
});

const PATH = 'providers.tokenAttributes';
const BAD_NAME =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const refusedTokens: Record<string, { files: Record<string, unknown>; tokens?: TokenSupport; message: string }> = {
  'nothing that is wanted': {
    files: one({ ...PROVIDER, tokenAttributes: {} }),
    message: `${INVALID}: [${PATH}.serviceAccountTokenAudience: Required value, ${PATH}.requireServiceAccount: Required value, ${PATH}.cacheType: Required value: cacheType is required to be set when tokenAttributes is specified. Supported values are: ServiceAccount, Token]`,
  },
  'another way to keep answers': {
    files: withTokens({ cacheType: 'Pod' }),
    message: `${INVALID}: ${PATH}.cacheType: Unsupported value: "Pod": supported values: "ServiceAccount", "Token"`,
  },
  'tokens in an older exchange': {
    files: withTokens({}, { apiVersion: 'credentialprovider.kubelet.k8s.io/v1beta1' }),
    message: `${INVALID}: ${PATH}: Forbidden: tokenAttributes is only supported for credentialprovider.kubelet.k8s.io/v1 API version`,
  },
  'annotations of accounts that a pod need not have': {
    files: withTokens({ requireServiceAccount: false, requiredServiceAccountAnnotationKeys: ['team'] }),
    message: `${INVALID}: ${PATH}.requiredServiceAccountAnnotationKeys: Forbidden: requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set`,
  },
  'annotations whose names are none': {
    files: withTokens({
      requiredServiceAccountAnnotationKeys: ['a b'],
      optionalServiceAccountAnnotationKeys: ['team', 'team'],
    }),
    message: `${INVALID}: [${PATH}.requiredServiceAccountAnnotationKeys: Invalid value: "a b": ${BAD_NAME}, ${PATH}.optionalServiceAccountAnnotationKeys: Duplicate value: "team"]`,
  },
  'annotations that must be there and need not': {
    files: withTokens({
      requiredServiceAccountAnnotationKeys: ['b', 'c', 'a'],
      optionalServiceAccountAnnotationKeys: ['a', 'b'],
    }),
    message: `${INVALID}: ${PATH}: Invalid value: ["a","b"]: annotation keys cannot be both required and optional`,
  },
  'tokens where their feature gate is off': {
    files: withTokens({}),
    tokens: 'disabled',
    message: `${INVALID}: ${PATH}: Forbidden: tokenAttributes is not supported when KubeletServiceAccountTokenForCredentialProviders feature gate is disabled`,
  },
  'tokens where there is no API server': {
    files: withTokens({}),
    tokens: 'standalone',
    message: `${INVALID}: ${PATH}: Forbidden: provider "shop" asks for service account tokens, which only an API server gives out: name one with --kubeconfig`,
  },
  'tokens in an older configuration': {
    files: {
      '/etc/providers.yaml': {
        ...HEADER,
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        providers: [{ ...PROVIDER, tokenAttributes: ATTRIBUTES }],
      },
    },
    message: `${DECODING}: strict decoding error: unknown field "providers[0].tokenAttributes"`,
  },
  'an unknown field': {
    files: withTokens({ audience: 'registry' }),
    message: `${DECODING}: strict decoding error: unknown field "providers[0].tokenAttributes.audience"`,
  },
  'a word for a switch': {
    files: withTokens({ requireServiceAccount: 'sometimes' }),
    message: `${DECODING}: providers[0].tokenAttributes.requireServiceAccount: expected true or false`,
  },
};

for (const [name, { files, tokens, message }] of Object.entries(refusedTokens)) {
  test(`readCredentialProviders() refuses ${name}`, async () => {
    await assert.rejects(read(files, undefined, tokens), { name: 'ProviderConfigError', message });
  });
}
