import type { YamlNode } from './yaml-tree.ts';

/**
 * Where `spec.containers[0].image` or `metadata.labels[app.kubernetes.io/name]` stands in a tree: the value when it is
 * a scalar, else its key. A path that leads nowhere gives the last step that exists.
 */
export function locateField(root: YamlNode, path: string): number {
  let node = root;
  let offset = root.offset;
  for (const match of path.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)) {
    const step = match[1] ?? match[2] ?? '';
    const next = stepInto(node, step);
    if (!next) break;
    node = next.node;
    offset = node.kind === 'scalar' && node.value !== null ? node.offset : next.offset;
  }
  return offset;
}

function stepInto(node: YamlNode, step: string): { node: YamlNode; offset: number } | undefined {
  if (node.kind === 'map') {
    const entry = node.entries.get(step);
    return entry && { node: entry.node, offset: entry.keyOffset };
  }
  const item = node.kind === 'list' ? node.items[Number(step)] : undefined;
  return item && { node: item, offset: item.offset };
}
