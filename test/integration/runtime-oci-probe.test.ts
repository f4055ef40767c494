/** Working OCI runtimes are detected by running them. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { LogFields } from '../../src/base/log.ts';
import { silentLog } from '../../src/base/log.ts';
import { probeRuntimes } from '../../src/runtime/oci/probe-runtimes.ts';
import { runtimePaths } from '../../src/runtime/settings/runtime-paths.ts';
import { temporaryFolder } from '../contract/host/temporary-folder.ts';
import { host, never, ociSkipReason } from './oci-fixture.ts';

const RUNC = '/usr/sbin/runc';
const PAUSE = '/usr/bin/catatonit';
const skip = existsSync(PAUSE) ? await ociSkipReason(RUNC) : `not installed: ${PAUSE}`;

test('probeRuntimes() returns working programs, omits others, and caches the result', { skip }, async (t) => {
  const stateDir = await temporaryFolder(t);
  chmodSync(stateDir, 0o711);
  const handlers = new Map([
    ['', RUNC],
    ['broken', '/bin/true'],
    ['again', RUNC],
  ]);
  const logged: unknown[] = [];
  const log = { ...silentLog, error: (_: string, fields?: LogFields) => logged.push(fields?.['handler']) };
  const settings = { rootDir: `${stateDir}/root`, stateDir, pauseProgram: PAUSE, handlers, monitorScope: undefined };
  const probe = () => probeRuntimes({ host, settings, paths: runtimePaths(settings), log }, never);

  const first = await probe();
  assert.deepEqual(
    first.handlers.map(({ name }) => name),
    ['', 'runc', 'again'],
  );
  assert.equal(first.handler('')?.program, RUNC);
  assert.equal(first.handler('broken'), undefined);
  assert.deepEqual(logged, ['broken']);
  assert.deepEqual(
    readdirSync(stateDir, { recursive: true })
      .map(String)
      .filter((path) => path.includes('probe-')),
    [],
  );

  const kept = readFileSync(`${stateDir}/oci-probe.json`, 'utf8');
  assert.deepEqual((await probe()).handlers, first.handlers);
  assert.equal(readFileSync(`${stateDir}/oci-probe.json`, 'utf8'), kept);
});

test('probeRuntimes() reports each program when none works', { skip }, async (t) => {
  const stateDir = await temporaryFolder(t);
  const handlers = new Map<string, string>();
  const settings = { rootDir: `${stateDir}/root`, stateDir, pauseProgram: PAUSE, handlers, monitorScope: undefined };
  const candidates = ['/no/such/crun', '/bin/false'];
  const deps = { host, settings, paths: runtimePaths(settings), log: silentLog, candidates };
  await assert.rejects(probeRuntimes(deps, never), {
    name: 'OciError',
    message: /^no working OCI runtime found: \/no\/such\/crun: not installed; \/bin\/false: ./,
  });
});
