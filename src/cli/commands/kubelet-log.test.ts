import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadKubeletConfig } from '../../app/config/load-config.ts';
import { scriptedContext } from '../fake/scripted-context.ts';
import { kubeletLog } from './kubelet-log.ts';

async function setUp(...flags: readonly string[]) {
  const { context, host, written } = scriptedContext();
  const { settings, diagnostics } = await loadKubeletConfig(
    flags,
    { fs: host.fs, hostname: 'box' },
    new AbortController().signal,
  );
  assert.deepEqual(diagnostics, []);
  return { ...kubeletLog(context, settings), clock: host.clock, written };
}

test('the log is text on stderr', async () => {
  const { log, flush, written } = await setUp();
  log.info('started');
  await flush();
  assert.match(written.stderr, /^I\d{4} [\d:.]+ +42 nodelet:0\] "started"\n$/);
  assert.equal(written.stdout, '');
});

test('--logging-format=json writes JSON', async () => {
  const { log, flush, written } = await setUp('--logging-format=json');
  log.info('started');
  await flush();
  assert.equal(JSON.parse(written.stderr).msg, 'started');
});

test('--log-text-split-stream writes errors to stderr, the rest to stdout', async () => {
  const { log, flush, written } = await setUp('--feature-gates=LoggingAlphaOptions=true', '--log-text-split-stream');
  log.info('started');
  log.error('failed');
  await flush();
  assert.match(written.stdout, /"started"\n$/);
  assert.match(written.stderr, /"failed"\n$/);
});

test('--log-text-info-buffer-size collects lines until they are many or old', async () => {
  const flags = ['--feature-gates=LoggingAlphaOptions=true', '--log-text-split-stream', '--log-flush-frequency=3s'];
  const { log, clock, written } = await setUp(...flags, '--log-text-info-buffer-size=1Ki');
  log.info('one');
  await clock.advance(2_999);
  assert.equal(written.stdout, '');
  await clock.advance(1);
  assert.match(written.stdout, /"one"\n$/);
  log.info('x'.repeat(1024));
  await clock.advance(0);
  assert.match(written.stdout, /xxx"\n$/);
});

test('--vmodule and a later change of the verbosity', async () => {
  const { log, setVerbosity, flush, written } = await setUp('--v=2', '--vmodule=server=4');
  log.debug('hidden');
  log.module?.('server').debug('of the server');
  setVerbosity(4);
  log.debug('shown');
  await flush();
  assert.deepEqual(
    [...written.stderr.matchAll(/"([^"]+)"/g)].map(([, text]) => text),
    ['of the server', 'shown'],
  );
});
