/** Writes src/observability/tracing/generated: OTLP, by which spans reach a collector. */
import type { Generated } from './generate.ts';
import { generateProto } from './generate-proto.ts';

/** The same tables and node_modules give the same text. */
export function generateOtlp(root: string): Generated {
  return generateProto(root, 'src/observability/tracing/generated', [
    { name: 'otlp-common-v1', tables: ['otlp-common-v1'] },
    { name: 'otlp-resource-v1', tables: ['otlp-resource-v1'], imports: ['otlp-common-v1.proto'] },
    {
      name: 'otlp-trace-v1',
      tables: ['otlp-trace-v1'],
      imports: ['otlp-common-v1.proto', 'otlp-resource-v1.proto'],
    },
    { name: 'otlp-collector-trace-v1', tables: ['otlp-collector-trace-v1'], imports: ['otlp-trace-v1.proto'] },
  ]);
}
