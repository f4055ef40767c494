import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptedEscaping, acceptsGzip } from './negotiate.ts';

const escapings: Record<string, string> = {
  '': 'underscores',
  'text/plain': 'underscores',
  'text/plain;version=1.0.0;escaping=allow-utf-8': 'allow-utf-8',
  'application/openmetrics-text;version=1.0.0;escaping=dots;q=0.9,text/plain;q=0.5': 'dots',
  'application/openmetrics-text;escaping=dots;q=0.1,text/plain;version=0.0.4;q=0.5': 'underscores',
  'text/plain;escaping=other': 'underscores',
};
for (const [accept, wanted] of Object.entries(escapings))
  test(`acceptedEscaping() of "${accept}"`, () => assert.equal(acceptedEscaping(accept), wanted));

const encodings: Record<string, boolean> = {
  '': false,
  gzip: true,
  'deflate, GZIP;q=0.5': true,
  'gzip;q=0': false,
  '*': true,
  '*, gzip;q=0': false,
  identity: false,
};
for (const [header, wanted] of Object.entries(encodings))
  test(`acceptsGzip() of "${header}"`, () => assert.equal(acceptsGzip(header), wanted));
