import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stringify } from 'yaml';
import type { ClientConfig } from '../../kubelet/api-client/client-config.ts';
import { parseKubeconfig } from './kubeconfig.ts';

const PATH = '/etc/kubernetes/kubelet.conf';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function fileOf(cluster: object, user: object, change: object = {}): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'other', cluster: { server: '' } },
      { name: 'c', cluster: { server: 'https://10.0.0.1:6443', ...cluster } },
    ],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'ns' } }],
    'current-context': 'x',
    preferences: { colors: true },
    ...change,
  });
}

const PLUGIN = { apiVersion: 'client.authentication.k8s.io/v1', command: 'bin/who', interactiveMode: 'Never' };
const cluster = { server: 'https://10.0.0.1:6443', insecureSkipVerify: false };

const cases: Record<string, { cluster?: object; user?: object; config: ClientConfig }> = {
  'is anonymous if the user is empty': { config: { cluster, user: {} } },
  'reads inline data': {
    cluster: { 'certificate-authority-data': base64('CA'), 'tls-server-name': 'api', 'proxy-url': 'http://p:3128' },
    user: { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
    config: {
      cluster: { ...cluster, authority: { pem: 'CA' }, tlsServerName: 'api', proxy: 'http://p:3128' },
      user: { certificate: { certificate: { pem: 'CERT' }, key: { pem: 'KEY' } } },
    },
  },
  'resolves paths relative to the file': {
    cluster: { 'certificate-authority': 'pki/ca.crt' },
    user: { 'client-certificate': '/var/lib/kubelet/pki/current.pem', 'client-key': '../key.pem', tokenFile: 'token' },
    config: {
      cluster: { ...cluster, authority: { file: '/etc/kubernetes/pki/ca.crt' } },
      user: {
        certificate: { certificate: { file: '/var/lib/kubelet/pki/current.pem' }, key: { file: '/etc/key.pem' } },
        token: { file: '/etc/kubernetes/token' },
      },
    },
  },
  'prefers the token file to the token': {
    user: { token: 'old', tokenFile: '/t' },
    config: { cluster, user: { token: { file: '/t' } } },
  },
  'reads a user name and a password': {
    user: { username: 'a', password: 'b' },
    config: { cluster, user: { password: { username: 'a', password: 'b' } } },
  },
  'uses HTTP for a server without a scheme': {
    cluster: { server: 'localhost:8080/' },
    config: { cluster: { ...cluster, server: 'http://localhost:8080' }, user: {} },
  },
  'uses HTTPS for it if there are TLS settings': {
    cluster: { server: 'api.example', 'insecure-skip-tls-verify': true },
    config: { cluster: { server: 'https://api.example', insecureSkipVerify: true }, user: {} },
  },
  'keeps the path of a server': {
    cluster: { server: 'https://api.example/k8s/c1/' },
    config: { cluster: { ...cluster, server: 'https://api.example/k8s/c1' }, user: {} },
  },
  'reads an exec plugin with its cluster info': {
    cluster: { extensions: [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } }] },
    user: {
      exec: {
        ...PLUGIN,
        args: ['--now'],
        env: [{ name: 'A', value: '1' }],
        provideClusterInfo: true,
        installHint: 'buy it',
      },
    },
    config: {
      cluster,
      user: {
        plugin: {
          apiVersion: 'client.authentication.k8s.io/v1',
          command: '/etc/kubernetes/bin/who',
          args: ['--now'],
          env: { A: '1' },
          installHint: 'buy it',
          cluster: { server: 'https://10.0.0.1:6443', config: { audience: 'a' } },
        },
      },
    },
  },
  'keeps the name of a plugin in PATH, and does not require interactiveMode of v1beta1': {
    user: { exec: { apiVersion: 'client.authentication.k8s.io/v1beta1', command: 'aws-iam' } },
    config: {
      cluster,
      user: {
        plugin: {
          apiVersion: 'client.authentication.k8s.io/v1beta1',
          command: 'aws-iam',
          args: [],
          env: {},
          installHint: '',
        },
      },
    },
  },
};

for (const [name, given] of Object.entries(cases)) {
  test(`parseKubeconfig() ${name}`, () => {
    assert.deepEqual(parseKubeconfig(fileOf(given.cluster ?? {}, given.user ?? {}), PATH), given.config);
  });
}

test('parseKubeconfig() reads JSON, and is anonymous without a user', () => {
  const config = {
    clusters: [{ name: 'c', cluster: { server: 'http://a' } }],
    contexts: [{ name: 'x', context: { cluster: 'c' } }],
    'current-context': 'x',
    users: null,
  };
  const expected = { cluster: { server: 'http://a', insecureSkipVerify: false }, user: {} };
  assert.deepEqual(parseKubeconfig(JSON.stringify(config), PATH), expected);
});

const faults: Record<string, { cluster?: object; user?: object; change?: object; message: string }> = {
  'no context': { change: { 'current-context': '' }, message: 'current-context: no context chosen' },
  'a missing context': {
    change: { 'current-context': 'y' },
    message: 'current-context: context "y" does not exist',
  },
  'a user that is not there': { change: { users: [] }, message: 'auth info "u" does not exist' },
  'a cluster that is not there': { change: { clusters: [] }, message: 'cluster "c" does not exist' },
  'no server': { cluster: { server: '' }, message: 'invalid configuration: no server found for cluster "c"' },
  'a field of another type, without showing it': {
    user: { token: 12345 },
    message: 'users.0.user.token: expected string',
  },
  'an authority as file and as data': {
    cluster: { 'certificate-authority': 'a', 'certificate-authority-data': 'YQ==' },
    message:
      'invalid configuration: certificate-authority-data and certificate-authority are both specified for c. certificate-authority-data will override.',
  },
  'an authority with insecure-skip-tls-verify': {
    cluster: { 'certificate-authority': 'a', 'insecure-skip-tls-verify': true },
    message: 'invalid configuration: specifying a root certificates file with the insecure flag is not allowed',
  },
  'invalid base64 data': {
    cluster: { 'certificate-authority-data': '%' },
    message: 'invalid configuration: clusters[c].certificate-authority-data: illegal base64 data',
  },
  'a certificate without a key': {
    user: { 'client-certificate': 'a' },
    message:
      'invalid configuration: client-key-data or client-key must be specified for u to use the clientCert authentication method.',
  },
  'a token and a password': {
    user: { token: 'secret', username: 'a', password: 'hidden' },
    message:
      'invalid configuration: more than one authentication method found for u; found [token basicAuth], only one is allowed',
  },
  impersonation: {
    user: { as: 'root' },
    message: 'invalid configuration: users[u].as: a node does not act for others',
  },
  'an auth provider': {
    user: { 'auth-provider': { name: 'gcp' } },
    message: 'invalid configuration: users[u].auth-provider: not supported, use exec',
  },
  'an unsupported proxy, without showing its password': {
    cluster: { 'proxy-url': 'socks5://a:hidden@p:1080' },
    message:
      'invalid configuration: invalid \'proxy-url\' "socks5://p:1080" for cluster "c": unsupported scheme "socks5", must be http or https',
  },
  'a plugin of another version without other fields': {
    user: { exec: { apiVersion: 'v0' } },
    message:
      'invalid configuration: [command must be specified for u to use exec authentication plugin, exec plugin: invalid apiVersion "v0", interactiveMode must be specified for u to use exec authentication plugin]',
  },
  'an interactive plugin': {
    user: { exec: { ...PLUGIN, interactiveMode: 'Always' } },
    message: 'invalid configuration: exec plugin cannot support interactive mode: standard input is not a terminal',
  },
};

for (const [name, { cluster: given = {}, user = {}, change, message }] of Object.entries(faults)) {
  test(`parseKubeconfig() rejects ${name}`, () => {
    assert.throws(() => parseKubeconfig(fileOf(given, user, change), PATH), {
      name: 'KubeconfigError',
      message: `${PATH}: ${message}`,
    });
  });
}

test('parseKubeconfig() rejects invalid YAML without showing it', () => {
  assert.throws(
    () => parseKubeconfig('users: [secret', PATH),
    (error: Error) => !error.message.includes('secret'),
  );
});

test('parseKubeconfig() rejects aliases that it cannot resolve without quoting them', () => {
  const message = (text: string): string => {
    try {
      return JSON.stringify(parseKubeconfig(text, PATH));
    } catch (error) {
      return String(error);
    }
  };
  const bomb = `a: &a [${'x,'.repeat(20)}]\nb: &b [${'*a,'.repeat(20)}]\nc: [${'*b,'.repeat(20)}]\n`;
  assert.equal(message(bomb), `KubeconfigError: ${PATH}: cannot parse YAML: document contains excessive aliasing`);
  const password = 'users: [{name: u, user: {password: *hunter2}}]';
  assert.equal(message(password), `KubeconfigError: ${PATH}: cannot parse YAML: unknown anchor referenced`);
});
