import assert from 'node:assert/strict';
import test from 'node:test';
import { silentLog } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { ProgramContext } from '../../host/fake/memory-process.ts';
import { examplePod } from '../sync/config/pod.fixture.ts';
import { CredentialProvider, type ProviderSpec, providerLogins } from './credential-provider.ts';

const VERSION = 'credentialprovider.kubelet.k8s.io/v1';
const never = new AbortController().signal;
const POD = examplePod({});
const SPEC: ProviderSpec = {
  name: 'shop',
  program: '/opt/shop',
  args: ['--region=here'],
  env: { SHOP: 'open' },
  matchImages: ['*.example.com', 'localhost:5000/team'],
  defaultCacheMs: 60_000,
  apiVersion: VERSION,
};

/** A host with a provider that responds in a second. */
class Machine {
  readonly host = createMemoryHost();
  readonly asked: Array<Pick<ProgramContext, 'args' | 'env'> & { input: string }> = [];
  readonly errors: string[] = [];
  response: object = { cacheKeyType: 'Image', auth: { 'registry.example.com': { username: 'u', password: 'p' } } };
  output: string | undefined;
  exitCode = 0;
  workMs = 1000;
  readonly provider: CredentialProvider;

  constructor(spec: Partial<ProviderSpec> = {}, life = never) {
    this.host.processes.install('/opt/shop', async (context) => {
      const { args, env, input, ended } = context;
      this.asked.push({ args, env, input: new TextDecoder().decode(input) });
      await this.host.clock.sleep(this.workMs, ended);
      if (this.exitCode !== 0) context.stderr('closed today\n');
      const header = { kind: 'CredentialProviderResponse', apiVersion: VERSION };
      context.stdout(this.output ?? JSON.stringify({ ...header, ...this.response }));
      return this.exitCode;
    });
    const error = (_: string, fields: { error?: Error } = {}) => this.errors.push(fields.error?.message ?? '');
    const log = { ...silentLog, error };
    this.provider = new CredentialProvider({ ...SPEC, ...spec }, { ...this.host, log }, life);
  }

  async ask(repository = 'registry.example.com/app', patienceMs = this.workMs): Promise<string[]> {
    const logins = this.provider.logins(repository, POD, never);
    await this.host.clock.advance(patienceMs);
    return [...(await logins).config.values()].map(({ username, password }) => `${username}:${password}`);
  }
}

test('CredentialProvider runs its program as kubelet does', async () => {
  const machine = new Machine();
  assert.deepEqual(await machine.ask(), ['u:p']);
  assert.deepEqual(machine.asked, [
    {
      args: ['--region=here'],
      env: { SHOP: 'open' },
      input: `{"kind":"CredentialProviderRequest","apiVersion":"${VERSION}","image":"registry.example.com/app"}\n`,
    },
  ]);
});

test('CredentialProvider does not run for other registries', async () => {
  const machine = new Machine();
  for (const repository of ['example.com/app', 'a.b.example.com/app', 'localhost:5000/app', 'localhost/team']) {
    assert.deepEqual(await machine.ask(repository), []);
  }
  assert.deepEqual(machine.asked, []);
  await machine.ask('localhost:5000/team/app');
  assert.equal(machine.asked.length, 1);
});

const OTHERS = ['registry.example.com/app', 'registry.example.com/other', 'other.example.com/app'];
const kept: Record<string, { response: object; asked: number }> = {
  'an image': { response: { cacheKeyType: 'Image' }, asked: 3 },
  'a registry': { response: { cacheKeyType: 'Registry' }, asked: 2 },
  everything: { response: { cacheKeyType: 'Global' }, asked: 1 },
};

for (const [name, { response, asked }] of Object.entries(kept)) {
  test(`CredentialProvider caches a response for ${name}`, async () => {
    const machine = new Machine();
    machine.response = { ...machine.response, ...response };
    for (const repository of [...OTHERS, ...OTHERS]) await machine.ask(repository);
    assert.equal(machine.asked.length, asked);
  });
}

const durations: Record<string, { spec?: Partial<ProviderSpec>; response: object; keptMs: number }> = {
  'for the configured time': { response: {}, keptMs: 60_000 },
  'for the time in the response': { response: { cacheDuration: '2m' }, keptMs: 120_000 },
  'not at all if the response says so': { response: { cacheDuration: '0s' }, keptMs: 0 },
  'not at all if the configuration says so': { spec: { defaultCacheMs: 0 }, response: {}, keptMs: 0 },
};

for (const [name, { spec, response, keptMs }] of Object.entries(durations)) {
  test(`CredentialProvider caches a response ${name}`, async () => {
    const machine = new Machine(spec);
    machine.response = { ...machine.response, ...response };
    await machine.ask();
    await machine.host.clock.advance(Math.max(0, keptMs - machine.workMs));
    await machine.ask();
    assert.equal(machine.asked.length, keptMs === 0 ? 2 : 1);
    await machine.host.clock.advance(2);
    await machine.ask();
    assert.equal(machine.asked.length, keptMs === 0 ? 3 : 2);
  });
}

test('CredentialProvider runs once for concurrent requests', async () => {
  const machine = new Machine({ defaultCacheMs: 0 });
  const one = new AbortController();
  const gone = machine.provider.logins('registry.example.com/app', POD, one.signal);
  const waiting = Array.from({ length: 10 }, () => machine.provider.logins('registry.example.com/app', POD, never));
  one.abort(new Error('gone'));
  await assert.rejects(gone, { message: 'gone' });
  await machine.host.clock.advance(1000);
  assert.ok((await Promise.all(waiting)).every(({ config }) => config.size === 1));
  assert.equal(machine.asked.length, 1);
});

const ERROR = 'error execing credential provider plugin shop for image registry.example.com/app';
const UNDECODABLE = 'error decoding credential provider plugin response from stdout';
const failures: Record<string, { given: Partial<Machine>; error: string }> = {
  'an exit code': { given: { exitCode: 3, output: '' }, error: `${ERROR}: exit status 3: closed today\n` },
  'a hanging program': { given: { workMs: 60_000 }, error: `${ERROR}: context deadline exceeded` },
  'endless output': {
    given: { output: ' '.repeat(2 ** 20 + 1) },
    error: `${ERROR}: /opt/shop wrote more than 1048576 bytes`,
  },
  'output that is not JSON': {
    given: { output: 'secret' },
    error: 'error reading GVK from response: it is not a JSON object',
  },
  'a different version': {
    given: { output: '{"apiVersion":"credentialprovider.kubelet.k8s.io/v1beta1"}' },
    error: `apiVersion from credential plugin response did not match expected apiVersion:${VERSION}, actual apiVersion:credentialprovider.kubelet.k8s.io/v1beta1`,
  },
  'a different kind': { given: { response: { kind: 'Other', cacheKeyType: 'Image' } }, error: UNDECODABLE },
  'an unknown field': { given: { response: { cacheKeyType: 'Image', secret: 1 } }, error: UNDECODABLE },
  'an invalid login': {
    given: { response: { cacheKeyType: 'Image', auth: { a: { password: 1 } } } },
    error: UNDECODABLE,
  },
  'an invalid duration': { given: { response: { cacheKeyType: 'Image', cacheDuration: '1' } }, error: UNDECODABLE },
  'an object instead of a version': { given: { output: '{"apiVersion":{"toString":1}}' }, error: UNDECODABLE },
  'an object instead of a cache key type': {
    given: { response: { cacheKeyType: { toString: 1 } } },
    error: UNDECODABLE,
  },
  'no cache key type': {
    given: { response: { cacheKeyType: 'Planet' } },
    error: 'credential provider plugin did not return a valid cacheKeyType: Planet',
  },
};

for (const [name, { given, error }] of Object.entries(failures)) {
  test(`CredentialProvider has no logins and logs the error for ${name}`, async () => {
    const machine = Object.assign(new Machine(), given);
    assert.deepEqual(await machine.ask(), []);
    assert.deepEqual(machine.errors, [error]);
  });
}

test('CredentialProvider logs an error once for all waiting callers', async () => {
  const machine = Object.assign(new Machine(), { exitCode: 3 });
  const waiting = [1, 2, 3].map(() => machine.provider.logins('registry.example.com/app', POD, never));
  await machine.host.clock.advance(machine.workMs);
  await Promise.all(waiting);
  assert.equal(machine.errors.length, 1);
});

test('CredentialProvider has no logins if its program cannot be started', async () => {
  const machine = new Machine({ program: '/opt/none' });
  assert.deepEqual(await machine.ask(), []);
  assert.deepEqual(machine.errors, [`${ERROR}: start /opt/none: ENOENT`]);
});

test('providerLogins() keeps the order of the providers', async () => {
  const [first, second] = [new Machine(), new Machine()];
  const asked = providerLogins('registry.example.com/app', POD, [first.provider, second.provider], never);
  second.response = { cacheKeyType: 'Image', auth: {} };
  await second.host.clock.advance(1000);
  await first.host.clock.advance(1000);
  assert.deepEqual(
    (await asked).map(({ config, owner }) => [config.size, owner.kind]),
    [
      [1, 'node'],
      [0, 'node'],
    ],
  );
});
