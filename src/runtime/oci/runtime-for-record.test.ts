import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { MemoryOciRuntime } from './fake/memory-oci-runtime.ts';
import type { OciRuntime, OciRuntimes, RuntimeIdentity } from './oci-runtime.ts';
import { type RuntimeOfRecord, runtimeForRecord } from './runtime-for-record.ts';

const { clock } = createMemoryHost();
const runtimeAt = ({ program, stateRoot }: RuntimeIdentity): OciRuntime =>
  Object.assign(new MemoryOciRuntime({ clock, program }), { stateRoot });

const CRUN = { program: '/usr/bin/crun', stateRoot: '/run/oci/crun' };
const KATA = { program: '/usr/bin/kata', stateRoot: '/run/kata' };
const MOVED = { program: '/usr/local/bin/kata', stateRoot: '/run/kata' };
const ELSEWHERE = { program: '/usr/bin/kata', stateRoot: '/run/elsewhere' };

/** The handlers of this process, and what a record of a previous one says. */
const cases: Record<string, { kata?: RuntimeIdentity; record: RuntimeOfRecord; expected: RuntimeIdentity }> = {
  'the handler as it was': { kata: KATA, record: { runtimeHandler: 'kata', oci: KATA }, expected: KATA },
  'a program that was moved': { kata: MOVED, record: { runtimeHandler: 'kata', oci: KATA }, expected: MOVED },
  'another state directory': { kata: ELSEWHERE, record: { runtimeHandler: 'kata', oci: KATA }, expected: KATA },
  'a handler that is gone': { record: { runtimeHandler: 'kata', oci: KATA }, expected: KATA },
  'another default': { record: { runtimeHandler: '', oci: KATA }, expected: KATA },
  'an old record': { kata: KATA, record: { runtimeHandler: 'kata' }, expected: KATA },
  'an old record of a handler that is gone': { record: { runtimeHandler: 'kata' }, expected: CRUN },
};

for (const [what, { kata, record, expected }] of Object.entries(cases)) {
  test(`runtimeForRecord() with ${what}`, () => {
    const handlers = new Map([['', runtimeAt(CRUN)], ...(kata ? [['kata', runtimeAt(kata)] as const] : [])]);
    const runtimes: OciRuntimes = { handler: (name) => handlers.get(name), at: runtimeAt, handlers: [] };
    const { program, stateRoot } = runtimeForRecord(runtimes, record);
    assert.deepEqual({ program, stateRoot }, expected);
  });
}
