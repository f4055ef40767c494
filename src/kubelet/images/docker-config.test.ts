import assert from 'node:assert/strict';
import test from 'node:test';
import { parseDockerConfigJson, parseDockercfg } from './docker-config.ts';
import { loginHash } from './registry-login.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const login = { username: 'u', password: 'p', email: '' };

const entries: Record<string, { given: unknown; login: object }> = {
  'user and password': { given: { username: 'u', password: 'p' }, login },
  'an additional email': {
    given: { username: 'u', password: 'p', email: 'u@example.com' },
    login: { ...login, email: 'u@example.com' },
  },
  'the base64 of both': { given: { auth: base64('u:p') }, login },
  'base64 without padding': { given: { auth: 'dTpwcA' }, login: { ...login, password: 'pp' } },
  'base64 on two lines': { given: { auth: 'dT\npw' }, login },
  'a password with colons': { given: { auth: base64('u:p:q') }, login: { ...login, password: 'p:q' } },
  'base64 that overrides the other fields': { given: { username: 'x', password: 'y', auth: base64('u:p') }, login },
  'field names in capital letters': { given: { Username: 'u', PASSWORD: 'p' }, login },
  'docker’s other fields': { given: { ...login, identitytoken: 'x', registrytoken: 'y' }, login },
  nothing: { given: null, login: { username: '', password: '', email: '' } },
};

for (const [name, { given, login: expected }] of Object.entries(entries)) {
  test(`parseDockerConfigJson() and parseDockercfg() read ${name}`, () => {
    const auths = { 'registry.example': given };
    assert.deepEqual(Object.fromEntries(parseDockerConfigJson(JSON.stringify({ auths }))), {
      'registry.example': expected,
    });
    assert.deepEqual(parseDockercfg(JSON.stringify(auths)), parseDockerConfigJson(JSON.stringify({ Auths: auths })));
  });
}

const faults: Record<string, { text: string; message: string }> = {
  'text that is not JSON': { text: '{', message: 'error occurred while trying to unmarshal json' },
  'a list': { text: '[]', message: 'the configuration is not an object' },
  'registries in a list': { text: '{"auths":[]}', message: 'the list of registries is not an object' },
  'an entry that is not an object': { text: '{"auths":{"a":"secret"}}', message: 'an entry is not an object' },
  'a number for a password': {
    text: '{"auths":{"a":{"password":1}}}',
    message: 'the field password of an entry is not a string',
  },
  'invalid base64': { text: '{"auths":{"a":{"auth":"?"}}}', message: 'the auth field of an entry is not base64' },
  'base64 with too much padding': {
    text: '{"auths":{"a":{"auth":"dTpw="}}}',
    message: 'the auth field of an entry is not base64',
  },
  'base64 without a colon': {
    text: JSON.stringify({ auths: { a: { auth: base64('secret') } } }),
    message: 'unable to parse auth field, must be formatted as base64(username:password)',
  },
};

for (const [name, { text, message }] of Object.entries(faults)) {
  test(`parseDockerConfigJson() rejects ${name} without quoting it`, () => {
    assert.throws(() => parseDockerConfigJson(text), { name: 'DockerConfigError', message });
  });
}

test('loginHash() is kubelet’s, so that its records stay valid', () => {
  // From Go: encoding/json and crypto/sha256 over kubelet's AuthConfig.
  assert.equal(loginHash(login), 'edbd57ca9372e64eb1c9070ecf3a049ac553596b0529acf034c7a71d4e618e88');
  assert.equal(
    loginHash({ username: 'a<b>&\u2028\u0001\b"é', password: '\\/\x7f', email: 'x@y' }),
    '7925ab021dc1154f348aacd094960291ccd02f59046684dcefc9f28e8c822385',
  );
  assert.equal(
    loginHash({ username: '', password: '', email: '' }),
    '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
  );
});
