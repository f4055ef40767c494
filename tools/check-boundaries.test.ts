import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundaryErrors } from './check-boundaries.ts';

const cases: Record<string, { path: string; text: string; errors: string[] }> = {
  'lets kubelet use cri': {
    path: 'src/kubelet/sync/x.ts',
    text: "import { a } from '../../cri/a.ts';\n",
    errors: [],
  },
  'keeps runtime and kubelet apart': {
    path: 'src/runtime/server/x.ts',
    text: "import type { a } from '../../kubelet/a.ts';\n",
    errors: ['src/runtime/server/x.ts:1: src/runtime must not import src/kubelet (../../kubelet/a.ts)'],
  },
  'sees an import over several lines and a dynamic one': {
    path: 'src/base/x.ts',
    text: "import {\n  a,\n  b,\n} from '../api/a.ts';\nconst c = await import('../host/c.ts');\n",
    errors: [
      'src/base/x.ts:4: src/base must not import src/api (../api/a.ts)',
      'src/base/x.ts:5: src/base must not import src/host (../host/c.ts)',
    ],
  },
  'keeps in-memory worlds out of the product': {
    path: 'src/app/x.ts',
    text: "import { a } from '../host/fake/a.ts';\n",
    errors: ['src/app/x.ts:1: in-memory worlds are for tests (../host/fake/a.ts)'],
  },
  'lets a test use them': {
    path: 'src/app/x.test.ts',
    text: "import { a } from '../host/fake/a.ts';\n",
    errors: [],
  },
  'keeps the real ports in the composition root': {
    path: 'src/kubelet/sync/x.ts',
    text: "import { a } from '../../host/linux/a.ts';\n",
    errors: ['src/kubelet/sync/x.ts:1: take the port as a parameter instead of the real one (../../host/linux/a.ts)'],
  },
  'keeps gRPC in cri': {
    path: 'src/kubelet/sync/x.ts',
    text: "import { Client } from '@grpc/grpc-js';\n",
    errors: [
      'src/kubelet/sync/x.ts:1: @grpc/grpc-js is used only in src/cri/, src/plugins/, src/observability/tracing/',
    ],
  },
  'keeps OpenTelemetry out of the agent': {
    path: 'src/kubelet/sync/x.ts',
    text: "import { trace } from '@opentelemetry/api';\n",
    errors: ['src/kubelet/sync/x.ts:1: @opentelemetry/api is used only in src/observability/tracing/'],
  },
  'finds home-made randomness': {
    path: 'src/kubelet/sync/x.ts',
    text: 'const a = Math.random();\n',
    errors: ['src/kubelet/sync/x.ts:1: use the Random port (src/host/random.ts)'],
  },
  'caps the length of a file': {
    path: 'src/base/x.ts',
    text: '\n'.repeat(301),
    errors: ['src/base/x.ts: 301 lines; split it (limit 300)'],
  },
};

for (const [name, { path, text, errors }] of Object.entries(cases)) {
  test(`boundaryErrors() ${name}`, () => {
    assert.deepEqual(boundaryErrors([{ path, text }]), errors);
  });
}
