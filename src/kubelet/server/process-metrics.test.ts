import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricsText } from '../../base/metrics/metrics-text.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { processMetrics, processStart } from './process-metrics.ts';

async function setUp() {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/proc/self/fd', 0o755);
  await fs.makeDirectory('/proc/self/net', 0o755);
  await fs.writeFile('/proc/self/fd/0', '');
  await fs.writeFile('/proc/self/stat', `7 (a) b) S 1 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0 300 0 0`);
  await fs.writeFile('/proc/self/status', 'VmSize:\t  20 kB\nVmRSS:\t  10 kB\n');
  await fs.writeFile(
    '/proc/self/limits',
    'Max open files            1024       4096       files\nMax address space         unlimited  unlimited  bytes\n',
  );
  await fs.writeFile(
    '/proc/self/net/netstat',
    'TcpExt: A\nTcpExt: 1\nIpExt: InNoRoutes InOctets OutOctets\nIpExt: 0 700 300\n',
  );
  await fs.writeFile('/proc/stat', 'cpu 0\nbtime 1000\n');
  return fs;
}

test('processMetrics() reads /proc', async () => {
  const text = metricsText(await processMetrics(await setUp()));
  assert.deepEqual(
    text.split('\n').filter((line) => line !== '' && !line.startsWith('#')),
    [
      'process_cpu_seconds_total 2',
      'process_max_fds 1024',
      'process_network_receive_bytes_total 700',
      'process_network_transmit_bytes_total 300',
      'process_open_fds 1',
      'process_resident_memory_bytes 10240',
      'process_start_time_seconds 1003',
      'process_virtual_memory_bytes 20480',
      'process_virtual_memory_max_bytes 1.8446744073709552e+19',
    ],
  );
});

test('processStart() has the start with its stability, as /metrics/probes shows it', async () => {
  const text = metricsText(await processStart(await setUp()));
  assert.equal(
    text,
    [
      '# HELP process_start_time_seconds [ALPHA] Start time of the process since unix epoch in seconds.',
      '# TYPE process_start_time_seconds gauge',
      'process_start_time_seconds 1003',
      '',
    ].join('\n'),
  );
});
