import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigDiagnostic, formatDiagnostic } from './config-diagnostic.ts';

const diagnostics: Record<string, ConfigDiagnostic> = {
  '/k.yaml:3:10: maxPods: expected a number': {
    severity: 'error',
    file: '/k.yaml',
    line: 3,
    column: 10,
    path: 'maxPods',
    message: 'expected a number',
  },
  '/k.yaml: was empty': { severity: 'error', file: '/k.yaml', message: 'was empty' },
  'unknown flag: --foo': { severity: 'error', path: '--foo', message: 'unknown flag: --foo' },
  'clusterDNS: not an address': { severity: 'warning', path: 'clusterDNS', message: 'not an address' },
};

for (const [text, diagnostic] of Object.entries(diagnostics)) {
  test(`formatDiagnostic() writes "${text}"`, () => {
    assert.equal(formatDiagnostic(diagnostic), text);
  });
}
