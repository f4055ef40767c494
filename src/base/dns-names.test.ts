import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  configKeyFaults,
  dnsLabelFaults,
  dnsSubdomainFaults,
  dnsSubdomainWithUnderscoreFaults,
  envNameFaults,
  httpHeaderNameFaults,
  labelValueFaults,
  portNameFaults,
  portNumberFaults,
  qualifiedNameFaults,
} from './dns-names.ts';

const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const CONFIG_KEY =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

const cases: readonly { check: (value: string) => string[]; value: string; faults: string[] }[] = [
  { check: dnsLabelFaults, value: 'web-0', faults: [] },
  { check: dnsLabelFaults, value: '0', faults: [] },
  { check: dnsLabelFaults, value: 'Web', faults: [LABEL] },
  { check: dnsLabelFaults, value: '-web', faults: [LABEL] },
  { check: dnsLabelFaults, value: 'web\n', faults: [LABEL] },
  { check: dnsLabelFaults, value: 'web.a', faults: ['must not contain dots'] },
  { check: dnsLabelFaults, value: 'a'.repeat(64), faults: ['must be no more than 63 characters'] },
  { check: dnsSubdomainFaults, value: 'web.a', faults: [] },
  { check: dnsSubdomainFaults, value: 'web..a', faults: [SUBDOMAIN] },
  { check: dnsSubdomainFaults, value: 'a'.repeat(254), faults: ['must be no more than 253 characters'] },
  { check: dnsSubdomainWithUnderscoreFaults, value: '_sip.example_a.com', faults: [] },
  { check: qualifiedNameFaults, value: 'example.com/MyName', faults: [] },
  { check: qualifiedNameFaults, value: '/a', faults: ['prefix part must be non-empty'] },
  { check: qualifiedNameFaults, value: 'A_/a', faults: [`prefix part ${SUBDOMAIN}`] },
  { check: qualifiedNameFaults, value: '', faults: ['name part must be non-empty', `name part ${KEY}`] },
  { check: qualifiedNameFaults, value: 'a'.repeat(64), faults: ['name part must be no more than 63 bytes'] },
  {
    check: qualifiedNameFaults,
    value: 'a/b/c',
    faults: [`a valid label key ${KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`],
  },
  { check: labelValueFaults, value: '', faults: [] },
  { check: labelValueFaults, value: 'a'.repeat(64), faults: ['must be no more than 63 bytes'] },
  { check: portNameFaults, value: 'http-2', faults: [] },
  { check: portNameFaults, value: '80', faults: ['must contain at least one letter (a-z)'] },
  {
    check: portNameFaults,
    value: '-Http--administration',
    faults: [
      'must be no more than 15 characters',
      'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      'must not contain consecutive hyphens',
      'must not begin or end with a hyphen',
    ],
  },
  { check: envNameFaults, value: 'MY VAR-1', faults: [] },
  { check: envNameFaults, value: '', faults: ['environment variable name must be non-empty'] },
  {
    check: envNameFaults,
    value: 'a=b',
    faults: ["a valid environment variable name must consist only of printable ASCII characters other than '='"],
  },
  { check: configKeyFaults, value: 'key.name', faults: [] },
  { check: configKeyFaults, value: '..a', faults: ["must not start with '..'"] },
  { check: configKeyFaults, value: '..', faults: ["must not be '..'"] },
  { check: configKeyFaults, value: 'a b', faults: [CONFIG_KEY] },
  { check: httpHeaderNameFaults, value: 'X-Name', faults: [] },
];

for (const { check, value, faults } of cases) {
  test(`${check.name}() of ${JSON.stringify(value.slice(0, 30))}`, () => {
    assert.deepEqual(check(value), faults);
  });
}

test('portNumberFaults() takes 1 to 65535', () => {
  assert.deepEqual([0, 1, 65_535, 65_536].map(portNumberFaults), [
    ['must be between 1 and 65535, inclusive'],
    [],
    [],
    ['must be between 1 and 65535, inclusive'],
  ]);
});
