/** Writes src/runtime/nri/generated: NRI, and the ttrpc envelope of its messages. */
import type { Generated } from './generate.ts';
import { generateProto } from './generate-proto.ts';

/** The same tables and node_modules give the same text. */
export function generateNri(root: string): Generated {
  return generateProto(root, 'src/runtime/nri/generated', [
    { name: 'nri-v1alpha1', tables: ['nri-v1alpha1'] },
    { name: 'ttrpc', tables: ['ttrpc'] },
  ]);
}
