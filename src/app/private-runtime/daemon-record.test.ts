import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configDigest, daemonRecordText, parseDaemonRecord } from './daemon-record.ts';

const record = { pid: 7, startTime: 1234, configDigest: configDigest('version = 2'), ownsHostPortChains: true };

test('parseDaemonRecord() reads what daemonRecordText() wrote', () => {
  assert.deepEqual(parseDaemonRecord(daemonRecordText(record)), record);
});

for (const text of ['', '{', 'null', '[]', '{"pid":7}', daemonRecordText(record).replace('7', '"7"')]) {
  test(`parseDaemonRecord() takes ${JSON.stringify(text)} for no record`, () => {
    assert.equal(parseDaemonRecord(text), undefined);
  });
}
