import { type Alias, type Document, isAlias, type Node, visit } from 'yaml';

/**
 * The node of each alias: the last one with its anchor before the alias. Computed for the whole document at once, because
 * `Alias.resolve` searches the document from its start for each alias.
 */
export function aliasTargets(document: Document): ReadonlyMap<Alias, Node> {
  const targets = new Map<Alias, Node>();
  const anchored = new Map<string, Node>();
  visit(document, {
    Node: (_, node) => {
      if (isAlias(node)) {
        const target = anchored.get(node.source);
        if (target) targets.set(node, target);
      } else if (node.anchor !== undefined && node.anchor !== '') {
        anchored.set(node.anchor, node);
      }
    },
  });
  return targets;
}
