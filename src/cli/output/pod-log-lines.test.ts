import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import {
  exitedContainer,
  observedOf,
  reportOf,
  runningContainer,
  ScriptedView,
  staticPod,
} from '../../kubelet/local-api/fake/scripted-view.ts';
import { PodLogLines } from './pod-log-lines.ts';

const OLD = '2025-12-31T23:00:00Z';
const NEW = '2026-01-01T00:00:01Z';

async function setUp(sinceMs?: number) {
  const { fs, clock } = createMemoryHost();
  await fs.makeDirectory('/logs');
  const view = new ScriptedView();
  const lines: string[] = [];
  const logs = new PodLogLines({
    view,
    fs,
    write: async (prefix, line) => void lines.push(`${prefix} ${line}`),
    ...(sinceMs !== undefined && { sinceMs }),
  });
  return { fs, clock, view, lines, logs };
}

test('PodLogLines follows every container as it appears, to its end', { timeout: 10_000 }, async (t) => {
  const { fs, clock, view, lines, logs } = await setUp();
  const pod = staticPod('hello', 'default', ['web', 'log']);
  await fs.writeFile('/logs/web', `${NEW} stdout F one\n`);
  logs.follow(t.signal);
  const web = runningContainer('c1', 'web', '/logs/web');
  view.show(reportOf(pod, { observed: observedOf(pod, [web]) }));
  await clock.advance(0);
  await fs.writeFile('/logs/log', `${NEW} stderr F two\n`);
  view.show(reportOf(pod, { observed: observedOf(pod, [runningContainer('c2', 'log', '/logs/log'), web]) }));
  await clock.advance(0);
  await fs.appendFile('/logs/web', `${NEW} stdout F last words\n`);
  const ended = [exitedContainer('c2', 'log', '/logs/log'), exitedContainer('c1', 'web', '/logs/web')];
  view.show(reportOf(pod, { observed: observedOf(pod, ended) }));
  await logs.finish();
  assert.deepEqual(lines, ['hello/web | one', 'hello/log | two', 'hello/web | last words']);
});

test('PodLogLines leaves out earlier lines', { timeout: 10_000 }, async (t) => {
  const { fs, view, lines, logs } = await setUp(1_767_225_600_000);
  await fs.writeFile('/logs/web', `${OLD} stdout F old\n${NEW} stdout F new\n`);
  const pod = staticPod();
  view.show(reportOf(pod, { observed: observedOf(pod, [exitedContainer('c1', 'web', '/logs/web')]) }));
  logs.follow(t.signal);
  await logs.finish();
  assert.deepEqual(lines, ['hello/web | new']);
});

test('PodLogLines prints the present logs, the oldest container first', async (t) => {
  const { fs, view, lines, logs } = await setUp();
  await fs.writeFile('/logs/init', `${OLD} stdout F prepared\n`);
  await fs.writeFile('/logs/web', `${OLD} stdout F serving\n`);
  const pod = staticPod();
  const containers = [runningContainer('c2', 'web', '/logs/web'), exitedContainer('c1', 'init', '/logs/init')];
  view.show(reportOf(pod, { observed: observedOf(pod, containers) }));
  await logs.print(t.signal);
  assert.deepEqual(lines, ['hello/init | prepared', 'hello/web | serving']);
});
