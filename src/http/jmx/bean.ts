import type { Scrape } from './scrape.ts';
import type { Attributes } from './values.ts';

/** One bean of the Java Router, and where its attributes come from here. */
export interface Bean {
  /** ObjectName. */
  readonly name: string;
  readonly modelerType: string;
  /** From memory alone: no NameNode and no State Store is asked. */
  read(scrape: Scrape): Attributes;
}

export const ROUTER = 'Hadoop:service=Router,name=';
export const NAMENODE = 'Hadoop:service=NameNode,name=';

/** A metrics source: its model is its own name, its tags are text. */
export function metricsBean(
  source: string,
  tags: Readonly<Record<string, string | null>>,
  read: (scrape: Scrape) => Attributes,
): Bean {
  return {
    name: ROUTER + source,
    modelerType: source,
    read: (scrape) => {
      const own: Record<string, string | null> = {};
      for (const [tag, value] of Object.entries(tags)) own[`tag.${tag}`] = value;
      return { ...own, 'tag.Hostname': scrape.hostName, ...read(scrape) };
    },
  };
}
