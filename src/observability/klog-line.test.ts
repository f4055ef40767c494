import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog, type LogOptions } from './create-log.ts';

const clock = { now: () => 1_794_739_649_123.456 };

function logged(options: Partial<LogOptions> & Pick<LogOptions, 'format'>) {
  const lines: [line: string, level: string][] = [];
  const log = createLog({ clock, verbosity: 4, pid: 1234, write: (...line) => void lines.push(line), ...options });
  return { log, lines };
}

test('klog is the text of Kubernetes, with the module in the place of a source file', () => {
  const { log, lines } = logged({ format: 'klog' });
  log.warn('cannot start "pod"', { pod: 'default/hello', attempt: 2, error: new Error('no such\nimage') });
  log.module('server').debug('asked', { paths: ['a b'] });
  log.error('x');
  assert.deepEqual(lines, [
    [
      'W1115 10:47:29.123456    1234 nodelet:0] "cannot start \\"pod\\"" pod="default/hello" attempt=2 err="no such\\nimage"\n',
      'warn',
    ],
    ['I1115 10:47:29.123456    1234 server:0] "asked" paths=["a b"]\n', 'debug'],
    ['E1115 10:47:29.123456    1234 nodelet:0] "x"\n', 'error'],
  ]);
});

test('klogJson has the fields of Kubernetes', () => {
  const { log, lines } = logged({ format: 'klogJson' });
  log.info('started', { pod: 'default/hello' });
  log.module('server').error('failed', { error: new Error('no') });
  assert.deepEqual(
    lines.map(([line]) => JSON.parse(line)),
    [
      { ts: 1_794_739_649_123.456, msg: 'started', v: 2, pod: 'default/hello' },
      { ts: 1_794_739_649_123.456, logger: 'server', msg: 'failed', err: 'no' },
    ],
  );
});

test('a module can have a verbosity of its own', () => {
  const modules = [
    { filePattern: 'dra', verbosity: 0 },
    { filePattern: '*-manager', verbosity: 4 },
  ];
  const { log, lines } = logged({ format: 'klogJson', verbosity: 2, modules });
  for (const each of [log, log.module('dra'), log.module('device-manager'), log.module('server')]) {
    each.debug('debug');
    each.info('info');
    each.error('error');
  }
  assert.deepEqual(
    lines.map(([line]) => {
      const { logger = '', msg } = JSON.parse(line);
      return `${logger} ${msg}`;
    }),
    [
      ' info',
      ' error',
      'dra error',
      'device-manager debug',
      'device-manager info',
      'device-manager error',
      'server info',
      'server error',
    ],
  );
});

test('the verbosity can be changed while the program runs', () => {
  const { log, lines } = logged({ format: 'klog', verbosity: 0 });
  log.info('before');
  log.setVerbosity(2);
  log.info('after');
  assert.deepEqual(lines.length, 1);
});
