import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuthConfig } from '../../cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { dockerLogin } from './docker-login.ts';

const signal = new AbortController().signal;
const auth = (text: string): string => Buffer.from(text).toString('base64');
const HUB = 'https://index.docker.io/v1/';

interface Case {
  readonly image?: string;
  readonly config?: unknown;
  /** Absent: root's. */
  readonly folder?: string;
  readonly env?: Record<string, string>;
  /** What `docker-credential-safe` answers. */
  readonly helper?: { readonly exitCode?: number; readonly stdout: string };
  readonly login?: Partial<AuthConfig>;
  readonly warned?: RegExp;
}

const SAFE = { stdout: '{"ServerURL":"x","Username":"me","Secret":"from the safe"}' };

const cases: Record<string, Case> = {
  'nothing without a configuration': {},
  'the login for a registry': {
    config: { auths: { 'registry.example:5000': { auth: auth('me:secret:1') } } },
    login: { username: 'me', password: 'secret:1' },
  },
  'nothing for another registry': { config: { auths: { 'other.example': { auth: auth('me:secret') } } } },
  'the login for Docker Hub': {
    image: 'busybox',
    config: { auths: { [HUB]: { auth: auth('me:secret') } } },
    login: { username: 'me', password: 'secret' },
  },
  'the login of the folder that DOCKER_CONFIG names': {
    folder: '/etc/docker',
    env: { HOME: '/root', DOCKER_CONFIG: '/etc/docker' },
    config: { auths: { 'registry.example:5000': { auth: auth('me:secret') } } },
    login: { username: 'me', password: 'secret' },
  },
  'nothing without a home directory': {
    env: {},
    config: { auths: { 'registry.example:5000': { auth: auth('a:b') } } },
  },
  'an identity token in place of a password': {
    config: { auths: { 'registry.example:5000': { auth: auth('me:'), identitytoken: 'token' } } },
    login: { identityToken: 'token' },
  },
  'what the helper of a registry has': {
    config: { credHelpers: { 'registry.example:5000': 'safe' } },
    helper: SAFE,
    login: { username: 'me', password: 'from the safe' },
  },
  'what the helper of all registries has, before the file': {
    config: { credsStore: 'safe', auths: { 'registry.example:5000': { auth: auth('me:secret') } } },
    helper: SAFE,
    login: { username: 'me', password: 'from the safe' },
  },
  'a token that the helper has': {
    config: { credsStore: 'safe' },
    helper: { stdout: '{"ServerURL":"x","Username":"<token>","Secret":"token"}' },
    login: { identityToken: 'token' },
  },
  'the file where the helper has nothing': {
    config: { credsStore: 'safe', auths: { 'registry.example:5000': { auth: auth('me:secret') } } },
    helper: { exitCode: 1, stdout: 'credentials not found in native keychain\n' },
    login: { username: 'me', password: 'secret' },
  },
  'nothing from a helper that fails': {
    config: { credsStore: 'safe' },
    helper: { exitCode: 3, stdout: 'secret' },
    warned: /^no login from \/root\/.docker\/config.json: docker-credential-safe ended with exit code 3$/,
  },
  'nothing from a helper that answers something else': {
    config: { credsStore: 'safe' },
    helper: { stdout: 'secret' },
    warned: /: docker-credential-safe answered without a login$/,
  },
  'nothing from a helper that is not there': {
    config: { credsStore: 'desktop' },
    warned: /: start docker-credential-desktop: ENOENT$/,
  },
  'nothing from a helper with a path for a name': {
    config: { credsStore: '../sh' },
    warned: /: invalid name of a credential helper$/,
  },
  'nothing from an invalid configuration': {
    config: { auths: ['secret'] },
    warned: /^no login from \/root\/.docker\/config.json: the list of registries is not an object$/,
  },
};

for (const [what, one] of Object.entries(cases)) {
  test(`dockerLogin() finds ${what}`, async () => {
    const { image = 'registry.example:5000/team/app:1', env = { HOME: '/root' }, folder = '/root/.docker' } = one;
    const host = createMemoryHost();
    await host.fs.makeDirectory(folder);
    if (one.config !== undefined) await host.fs.writeFile(`${folder}/config.json`, JSON.stringify(one.config));
    const { helper } = one;
    if (helper) {
      host.processes.install('docker-credential-safe', async ({ args, input, stdout }) => {
        assert.deepEqual([args, new TextDecoder().decode(input)], [['get'], 'registry.example:5000']);
        stdout(helper.stdout);
        return helper.exitCode ?? 0;
      });
    }
    const warnings: string[] = [];
    const warn = async (text: string): Promise<void> => void warnings.push(text);
    const login = await dockerLogin(image, { ...host, env, warn }, signal);
    assert.deepEqual(login, one.login && AuthConfig.fromPartial(one.login));
    assert.equal(warnings.length, one.warned ? 1 : 0, warnings.join('\n'));
    if (one.warned) assert.match(warnings.join('\n'), one.warned);
    assert.doesNotMatch(warnings.join('\n'), /secret/);
  });
}
