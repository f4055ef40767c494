/** `nodelet image` on this machine: with a registry on loopback, standalone and through a runtime. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { LOGIN, registrySkipReason, startRegistry, type TestRegistry } from './registry-fixture.ts';
import { startRegistryProxy } from './registry-proxy.ts';
import { embeddedSkipReason, startEmbedded } from './runtime-fixture.ts';

const BIN = join(import.meta.dirname, '../../bin/nodelet');
const skip = registrySkipReason() || embeddedSkipReason();

interface Result {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A directory, and `nodelet image` on the runtime directories in it. */
function place(t: TestContext, folder = mkdtempSync(join(tmpdir(), 'nodelet-image-'))) {
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, 'home');
  mkdirSync(join(home, '.docker'), { recursive: true });
  const start = (verb: string, ...args: string[]): ChildProcess =>
    spawn(BIN, ['image', verb, '--root', join(folder, 'root'), '--state', join(folder, 'state'), ...args], {
      env: { PATH: process.env['PATH'], HOME: home },
    });
  const image = (verb: string, ...args: string[]): Promise<Result> => resultOf(start(verb, ...args));
  return { folder, home, start, image };
}

async function resultOf(started: ChildProcess, input: string | Uint8Array = ''): Promise<Result> {
  started.stdin?.end(input);
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    started[name]?.setEncoding('latin1').on('data', (chunk: string) => {
      texts[name] += chunk;
    });
  }
  const exitCode = await new Promise<number | null>((resolve) => started.on('close', resolve));
  return { exitCode, ...texts };
}

async function registryFor(t: TestContext, options?: Parameters<typeof startRegistry>[0]): Promise<TestRegistry> {
  const registry = await startRegistry(options);
  t.after(() => registry.stop());
  return registry;
}

const idIn = (text: string): string => /\((\w{12})\)/.exec(text)?.[1] ?? '';

test('nodelet image pulls, lists, saves, loads and removes without a runtime', { skip }, async (t) => {
  const registry = await registryFor(t);
  const name = await registry.push('team/app');
  const { image, folder } = place(t);
  const pulled = await image('pull', name);
  assert.match(pulled.stdout, new RegExp(`^${name} pulled \\(\\w{12}\\)\n$`));
  assert.match(pulled.stderr, /^\w{12} {2}done {2}[\d.]+[kM]B\n$/);
  const listed = await image('ls');
  assert.match(listed.stdout, /^REPOSITORY +TAG +IMAGE ID +SIZE\n/);
  assert.ok(listed.stdout.includes(idIn(pulled.stdout)));

  const archive = join(folder, 'app.tar');
  assert.match((await image('save', name, '-o', archive)).stdout, /app\.tar written \([\d.]+[kM]B\)\n$/);
  const members = execFileSync('tar', ['tf', archive], { encoding: 'utf8' }).split('\n');
  for (const member of ['oci-layout', 'index.json', 'manifest.json']) assert.ok(members.includes(member), member);
  const other = place(t);
  const loaded = await resultOf(other.start('load'), readFileSync(archive));
  assert.equal(loaded.stdout, `${name} loaded (${idIn(pulled.stdout)})\n`);
  assert.equal((await image('rm', name)).stdout, `${name} removed\n`);
  assert.equal((await image('ls', '-q')).stdout, '');
  for (const one of [folder, other.folder]) {
    assert.deepEqual(readdirSync(join(one, 'state')), []);
    assert.deepEqual(readdirSync(join(one, 'root/runtime/storage/unfinished')), []);
  }
});

test('nodelet image logs in with a password or like docker, and reports missing permissions', { skip }, async (t) => {
  const registry = await registryFor(t, { asksForLogin: true });
  const name = await registry.push('team/app');
  const { image, start, home } = place(t);
  const rejected = await image('pull', name);
  assert.equal(rejected.exitCode, 1);
  assert.match(rejected.stderr, /^nodelet image: failed to pull .*\b(401|unauthorized|authorization)\b/ims);
  const login = ['--username', LOGIN.username, '--password-stdin'];
  const pulled = await resultOf(start('pull', '--quiet', ...login, name), `${LOGIN.password}\n`);
  assert.deepEqual(pulled, { exitCode: 0, stdout: `${name}\n`, stderr: '' });
  await image('rm', name);
  const auth = Buffer.from(`${LOGIN.username}:${LOGIN.password}`).toString('base64');
  writeFileSync(join(home, '.docker/config.json'), JSON.stringify({ auths: { [registry.address]: { auth } } }));
  assert.equal((await image('pull', '-q', name)).stdout, `${name}\n`);
});

test('nodelet image uses the running runtime', { skip }, async (t) => {
  const registry = await registryFor(t);
  const name = await registry.push('team/app');
  const runtime = await startEmbedded();
  t.after(() => runtime.stop());
  const { image, start } = place(t, runtime.folder);
  assert.equal((await image('pull', name)).exitCode, 0);
  const saved = await image('save', name, 'localhost/nodelet/busybox:1');
  assert.equal(saved.exitCode, 0);
  const loaded = await resultOf(start('load'), Buffer.from(saved.stdout, 'latin1'));
  assert.deepEqual(new Set(loaded.stdout.match(/^\S+/gm)), new Set([name, 'localhost/nodelet/busybox:1']));
  const missing = await image('save', 'none:1');
  assert.deepEqual([missing.exitCode, missing.stdout], [1, '']);
  assert.match(missing.stderr, /none:1/);
});

test('nodelet image pull finds mirrors below --registry-config-dir', { skip }, async (t) => {
  const registry = await registryFor(t);
  await registry.push('team/app');
  const { image, folder } = place(t);
  const configDir = join(folder, 'certs.d');
  mkdirSync(join(configDir, 'registry.invalid'), { recursive: true });
  writeFileSync(join(configDir, 'registry.invalid/hosts.toml'), `[host."http://${registry.address}"]\n`);
  const name = 'registry.invalid/team/app:1';
  const pulled = await image('pull', '--quiet', '--registry-config-dir', configDir, name);
  assert.deepEqual(pulled, { exitCode: 0, stdout: `${name}\n`, stderr: '' });
});

test('nodelet image pull is cancelled by SIGINT, and resumes the next time', { skip }, async (t) => {
  const registry = await registryFor(t);
  const proxy = await startRegistryProxy(registry);
  t.after(() => proxy.stop());
  const name = (await registry.push('team/app')).replace(registry.address, proxy.address);
  const { image, start, folder } = place(t);
  proxy.stall();
  const pulling = start('pull', name);
  const ended = resultOf(pulling);
  await untilAsked(proxy, pulling);
  // The shell that starts it has exec'd the program by then.
  pulling.kill('SIGINT');
  const { exitCode, stderr } = await ended;
  assert.equal(exitCode, 1);
  assert.match(stderr, /nodelet image: interrupted; layers that are whole stay for the next try\n$/);
  assert.ok(!existsSync(join(folder, 'state/runtime.sock')));
  proxy.resume();
  assert.equal((await image('pull', name)).exitCode, 0);
});

async function untilAsked(proxy: { blobReads(): number }, started: ChildProcess): Promise<void> {
  while (proxy.blobReads() === 0) {
    assert.equal(started.exitCode, null, 'it ended before it requested a blob');
    await delay(10);
  }
}

test('nodelet image draws progress on a terminal, and writes no archive there', { skip }, async (t) => {
  const registry = await registryFor(t);
  const name = await registry.push('team/app');
  const { folder } = place(t);
  const places = `--root ${join(folder, 'root')} --state ${join(folder, 'state')}`;
  const onTerminal = (command: string): Promise<Result> =>
    resultOf(spawn('script', ['-qec', `${BIN} image ${command}`, '/dev/null'], { stdio: ['pipe', 'pipe', 'pipe'] }));
  const pulled = await onTerminal(`pull ${places} ${name}`);
  assert.match(pulled.stdout, /from http:\/\/127\.0\.0\.1:\d+/);
  assert.match(pulled.stdout, /\[\d+A\r.* {2}done {2}[\d.]+[kM]B/s);
  const saved = await onTerminal(`save ${places} ${name}`);
  assert.match(saved.stdout, /^nodelet image: an archive is not for a terminal: give -o FILE/);
  assert.equal(saved.exitCode, 2);
});
