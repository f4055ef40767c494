/** The contract of the kernel's log. */
import assert from 'node:assert/strict';
import { accessSync, closeSync, constants, openSync, writeSync } from 'node:fs';
import { test } from 'node:test';
import { MemoryKernelLog } from '../../../src/host/fake/memory-kernel-log.ts';
import { type KernelLog, parseKernelRecord } from '../../../src/host/kernel-log.ts';
import { createLinuxKernelLog } from '../../../src/host/linux/proc/linux-kernel-log.ts';

const USER = 1;

interface World {
  readonly log: KernelLog;
  write(message: string): void;
}

kernelLogContract('memory', false, () => {
  const log = new MemoryKernelLog();
  return { log, write: (message) => log.write(message, USER) };
});
kernelLogContract('linux', needsKernelLog(), () => ({
  log: createLinuxKernelLog(),
  write(message) {
    const fd = openSync('/dev/kmsg', 'w');
    writeSync(fd, `${message}\n`); // a record without a newline may be continued, and is not shown yet
    closeSync(fd);
  },
}));

function needsKernelLog(): string | false {
  try {
    accessSync('/dev/kmsg', constants.R_OK | constants.W_OK);
    return false;
  } catch {
    return 'needs /dev/kmsg';
  }
}

function kernelLogContract(name: string, skip: string | false, makeWorld: () => World): void {
  test(`${name} kernel log: has the records from now on, in order, until the signal aborts`, { skip }, async () => {
    const { log, write } = makeWorld();
    const mark = `nodelet-test-${process.pid}-${name}`;
    write(`${mark} before`);
    const stop = new AbortController();
    const found: string[] = [];
    const records = log.records(stop.signal)[Symbol.asyncIterator]();
    const first = records.next();
    // The log is opened by the first request.
    await new Promise((resolve) => setTimeout(resolve, 200));
    write(`${mark} one: ä;b`);
    write(`${mark} two`);
    for (let record = await first; !record.done; record = await records.next()) {
      const { facility, message } = record.value;
      if (!message.startsWith(mark)) continue; // of other programs
      found.push(`${facility} ${message.slice(mark.length + 1)}`);
      if (found.length === 2) stop.abort();
    }
    assert.deepEqual(found, ['1 one: ä;b', '1 two']);
  });
}

test('parseKernelRecord() reads the facility and the message', () => {
  assert.deepEqual(parseKernelRecord('6,122333,49751682034,-;port 7(veth) entered; disabled state'), {
    facility: 0,
    message: 'port 7(veth) entered; disabled state',
  });
  assert.deepEqual(parseKernelRecord('12,1,2,-,caller=T1;a\\x0ab'), { facility: 1, message: 'a\nb' });
  assert.equal(parseKernelRecord(' SUBSYSTEM=net'), undefined);
});
