import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serveLogVerbosity } from './serve-log-verbosity.ts';

/** Recorded from kubelet v1.36.4. */
const CASES: readonly (readonly [method: string, body: string, status: number, text: string, set?: number])[] = [
  ['PUT', '4', 200, 'successfully set klog.logging.verbosity to 4', 4],
  ['PUT', '2147483647', 200, 'successfully set klog.logging.verbosity to 2147483647', 2_147_483_647],
  ['GET', '4', 406, 'unsupported http method'],
  ['POST', '4', 406, 'unsupported http method'],
  ['PUT', '', 400, 'strconv.ParseUint: parsing "": invalid syntax'],
  ['PUT', '4\n', 400, 'strconv.ParseUint: parsing "4\\n": invalid syntax'],
  ['PUT', '-1', 400, 'strconv.ParseUint: parsing "-1": invalid syntax'],
  ['PUT', '99999999999', 400, 'strconv.ParseUint: parsing "99999999999": value out of range'],
  ['PUT', 'x'.repeat(2000), 400, 'error reading request body: http: request body too large'],
];

for (const [method, body, status, text, expected] of CASES) {
  test(`/debug/flags/v: ${method} ${JSON.stringify(body.slice(0, 12))} is ${status}`, async () => {
    let set: number | undefined;
    const sent = async function* () {
      yield Buffer.from(body);
    };
    const answer = await serveLogVerbosity({ method, body: sent() }, (verbosity) => {
      set = verbosity;
    });
    assert.deepEqual([answer.status, answer.body, set], [status, `${text}\n`, expected]);
  });
}
