import assert from 'node:assert/strict';
import { test } from 'node:test';
import { urlHostError } from './url-host-error.ts';

/** Recorded from Go's `url.Parse`. */
const errors: Record<string, string | undefined> = {
  'dns://collector:4317': undefined,
  'dns://collector': undefined,
  'dns://collector:': undefined,
  'dns://unix:/run/x': undefined,
  'unix:///run/a b': undefined,
  'dns://[::1]:4317': undefined,
  'dns://[::1': "missing ']' in host",
  'dns://[::1]4317': 'invalid port "4317" after host',
  'dns://collector:abc': 'invalid port ":abc" after host',
  'dns://user@host:x': 'invalid port ":x" after host',
  'dns://a^b:c': 'invalid port ":c" after host',
  'dns://a b:1': 'invalid character " " in host name',
  'dns://a|b': 'invalid character "|" in host name',
  'dns://a\tb': 'net/url: invalid control character in URL',
};

for (const [url, error] of Object.entries(errors)) {
  test(`urlHostError() of ${JSON.stringify(url)}`, () => {
    assert.equal(urlHostError(url), error && `parse ${JSON.stringify(url)}: ${error}`);
  });
}
