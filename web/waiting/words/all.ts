import { de } from "./de.ts";
import { en } from "./en.ts";
import { es } from "./es.ts";
import { fr } from "./fr.ts";
import { ja } from "./ja.ts";
import { ko } from "./ko.ts";
import type { Words } from "./words.ts";
import { zh } from "./zh.ts";

// In the order of `enum class Language` in src/page/page.h.
export const languages = ["en", "de", "fr", "es", "ja", "ko", "zh"] as const;
export type Language = (typeof languages)[number];
export const words: Record<Language, Words> = { en, de, fr, es, ja, ko, zh };
