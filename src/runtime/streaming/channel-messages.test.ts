import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ChannelEncoding, type ChannelMessage, decodeChannel, encodeChannel } from './channel-messages.ts';

const messages: Record<string, [encoding: ChannelEncoding, text: string, message: ChannelMessage | undefined]> = {
  'data of a channel': ['binary', '\x01hi', { channel: 1, data: Buffer.from('hi') }],
  'a channel without data': ['binary', '\x04', { channel: 4, data: Buffer.from('') }],
  nothing: ['binary', '', undefined],
  'data in base64': ['base64', '1aGk=', { channel: 1, data: Buffer.from('hi') }],
  'no data in base64': ['base64', '4', { channel: 4, data: Buffer.from('') }],
  'invalid base64': ['base64', '1aGk', undefined],
  'a message without a channel': ['base64', '\x01aGk=', undefined],
  'an empty message in base64': ['base64', '', undefined],
};

for (const [name, [encoding, text, message]] of Object.entries(messages)) {
  test(`decodeChannel() reads ${name}`, () => {
    assert.deepEqual(decodeChannel(encoding, Buffer.from(text, 'latin1')), message);
  });
}

test('decodeChannel() reads what encodeChannel() writes', () => {
  const encodings = fc.constantFrom<ChannelEncoding>('binary', 'base64');
  fc.assert(
    fc.property(encodings, fc.nat(4), fc.uint8Array(), (encoding, channel, data) => {
      const message = encodeChannel(encoding, channel, data);
      assert.equal(typeof message, encoding === 'base64' ? 'string' : 'object');
      const decoded = decodeChannel(encoding, Buffer.from(message));
      assert.deepEqual([decoded?.channel, [...(decoded?.data ?? [])]], [channel, [...data]]);
    }),
  );
});
