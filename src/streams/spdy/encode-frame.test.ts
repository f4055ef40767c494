import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ControlFrame, encodeControlFrame, encodeDataHeader } from './encode-frame.ts';
import { FrameDecoder } from './frame-decoder.ts';
import { HeaderWriter } from './header-blocks.ts';

const cases: Record<string, [frame: ControlFrame, hex: string]> = {
  'a stream': [
    { kind: 'synStream', streamId: 1, headers: { port: ['80'] }, fin: false, unidirectional: false },
    '800300010000002c0000000100000000000078bbe3c6a7c2001200edff0000000100000004706f7274000000023830000000ffff',
  ],
  'a unidirectional stream that is finished': [
    { kind: 'synStream', streamId: 3, headers: {}, fin: true, unidirectional: true },
    '800300010300001e0000000300000000000078bbe3c6a7c2000400fbff00000000000000ffff',
  ],
  'a reply': [
    { kind: 'synReply', streamId: 1, headers: {}, fin: false },
    '80030002000000180000000178bbe3c6a7c2000400fbff00000000000000ffff',
  ],
  'a reset': [{ kind: 'rstStream', streamId: 5, status: 5 }, '80030003000000080000000500000005'],
  'a ping': [{ kind: 'ping', id: 7 }, '800300060000000400000007'],
  'a GOAWAY': [{ kind: 'goAway', lastStreamId: 3, status: 1 }, '80030007000000080000000300000001'],
};

for (const [name, [frame, hex]] of Object.entries(cases)) {
  test(`encodeControlFrame() writes ${name}`, () => {
    const bytes = encodeControlFrame(frame, new HeaderWriter());
    assert.equal(Buffer.from(bytes).toString('hex'), hex);
    assert.deepEqual([...new FrameDecoder().frames(bytes)], [frame]);
  });
}

test('encodeDataHeader() writes at the given offset', () => {
  const target = new Uint8Array(18).fill(0xee);
  encodeDataHeader(target, 8, { streamId: 2 ** 31 - 1, length: 65_536, fin: true });
  assert.equal(Buffer.from(target).toString('hex'), 'eeeeeeeeeeeeeeee7fffffff01010000eeee');
});
