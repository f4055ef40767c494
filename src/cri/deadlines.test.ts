import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadlineFor } from './deadlines.ts';
import type { CriMethod } from './services.ts';

const TWO_MINUTES = 120_000;

const cases: {
  readonly method: CriMethod;
  readonly request: object;
  readonly ms: number | undefined;
  readonly why: string;
}[] = [
  { method: 'version', request: {}, ms: 120_000, why: 'has the configured time' },
  { method: 'stopPodSandbox', request: { podSandboxId: 'p' }, ms: 120_000, why: 'has the configured time' },
  { method: 'streamContainers', request: {}, ms: 120_000, why: 'lists, so it has the configured time' },
  { method: 'runPodSandbox', request: {}, ms: 240_000, why: 'has twice that' },
  { method: 'stopContainer', request: { timeout: 0n }, ms: 120_000, why: 'without grace has the configured time' },
  { method: 'stopContainer', request: { timeout: 30n }, ms: 150_000, why: 'adds the grace period' },
  { method: 'execSync', request: { timeout: 10n }, ms: 130_000, why: 'adds its own time-out' },
  { method: 'execSync', request: { timeout: 0n }, ms: undefined, why: 'without a time-out may last for ever' },
  { method: 'checkpointContainer', request: { timeout: 10n }, ms: 120_000, why: 'has at least the configured time' },
  { method: 'checkpointContainer', request: { timeout: 600n }, ms: 600_000, why: 'may ask for longer' },
  { method: 'pullImage', request: {}, ms: undefined, why: 'may last for ever' },
  { method: 'getContainerEvents', request: {}, ms: undefined, why: 'may last for ever' },
];

for (const { method, request, ms, why } of cases) {
  test(`deadlineFor() ${method} ${why}`, () => {
    assert.equal(deadlineFor(method, request, TWO_MINUTES), ms);
  });
}
