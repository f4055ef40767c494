import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  configKeyErrors,
  dnsLabelErrors,
  dnsSubdomainErrors,
  dnsSubdomainWithUnderscoreErrors,
  envNameErrors,
  httpHeaderNameErrors,
  labelValueErrors,
  portNameErrors,
  portNumberErrors,
  qualifiedNameErrors,
} from './name-syntax.ts';

const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const CONFIG_KEY =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

const cases: readonly { check: (value: string) => string[]; value: string; messages: string[] }[] = [
  { check: dnsLabelErrors, value: 'web-0', messages: [] },
  { check: dnsLabelErrors, value: '0', messages: [] },
  { check: dnsLabelErrors, value: 'Web', messages: [LABEL] },
  { check: dnsLabelErrors, value: '-web', messages: [LABEL] },
  { check: dnsLabelErrors, value: 'web\n', messages: [LABEL] },
  { check: dnsLabelErrors, value: 'web.a', messages: ['must not contain dots'] },
  { check: dnsLabelErrors, value: 'a'.repeat(64), messages: ['must be no more than 63 characters'] },
  { check: dnsSubdomainErrors, value: 'web.a', messages: [] },
  { check: dnsSubdomainErrors, value: 'web..a', messages: [SUBDOMAIN] },
  { check: dnsSubdomainErrors, value: 'a'.repeat(254), messages: ['must be no more than 253 characters'] },
  { check: dnsSubdomainWithUnderscoreErrors, value: '_sip.example_a.com', messages: [] },
  { check: qualifiedNameErrors, value: 'example.com/MyName', messages: [] },
  { check: qualifiedNameErrors, value: '/a', messages: ['prefix part must be non-empty'] },
  { check: qualifiedNameErrors, value: 'A_/a', messages: [`prefix part ${SUBDOMAIN}`] },
  { check: qualifiedNameErrors, value: '', messages: ['name part must be non-empty', `name part ${KEY}`] },
  { check: qualifiedNameErrors, value: 'a'.repeat(64), messages: ['name part must be no more than 63 bytes'] },
  {
    check: qualifiedNameErrors,
    value: 'a/b/c',
    messages: [`a valid label key ${KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`],
  },
  { check: labelValueErrors, value: '', messages: [] },
  { check: labelValueErrors, value: 'a'.repeat(64), messages: ['must be no more than 63 bytes'] },
  { check: portNameErrors, value: 'http-2', messages: [] },
  { check: portNameErrors, value: '80', messages: ['must contain at least one letter (a-z)'] },
  {
    check: portNameErrors,
    value: '-Http--administration',
    messages: [
      'must be no more than 15 characters',
      'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      'must not contain consecutive hyphens',
      'must not begin or end with a hyphen',
    ],
  },
  { check: envNameErrors, value: 'MY VAR-1', messages: [] },
  { check: envNameErrors, value: '', messages: ['environment variable name must be non-empty'] },
  {
    check: envNameErrors,
    value: 'a=b',
    messages: ["a valid environment variable name must consist only of printable ASCII characters other than '='"],
  },
  { check: configKeyErrors, value: 'key.name', messages: [] },
  { check: configKeyErrors, value: '..a', messages: ["must not start with '..'"] },
  { check: configKeyErrors, value: '..', messages: ["must not be '..'"] },
  { check: configKeyErrors, value: 'a b', messages: [CONFIG_KEY] },
  { check: httpHeaderNameErrors, value: 'X-Name', messages: [] },
];

for (const { check, value, messages } of cases) {
  test(`${check.name}() of ${JSON.stringify(value.slice(0, 30))}`, () => {
    assert.deepEqual(check(value), messages);
  });
}

test('portNumberErrors() takes 1 to 65535', () => {
  assert.deepEqual([0, 1, 65_535, 65_536].map(portNumberErrors), [
    ['must be between 1 and 65535, inclusive'],
    [],
    [],
    ['must be between 1 and 65535, inclusive'],
  ]);
});
