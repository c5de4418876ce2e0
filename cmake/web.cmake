# The pages: builds web/waiting (the visitor's) and web/console (the operator's) into a C++ source each, and the library fairway_page from
# these and src/page.
# npm fetches packages only when web/package-lock.json has changed; after that nothing is asked from a network.
find_program(NPM npm REQUIRED)
set(web ${CMAKE_SOURCE_DIR}/web)
set(web_packages ${web}/node_modules/.fairway-stamp)
add_custom_command(
  OUTPUT ${web_packages}
  COMMAND ${NPM} ci --prefer-offline --loglevel=error
  COMMAND ${CMAKE_COMMAND} -E touch ${web_packages}
  DEPENDS ${web}/package.json ${web}/package-lock.json
  WORKING_DIRECTORY ${web}
  COMMENT "Fetching the packages that build the pages")

file(GLOB_RECURSE waiting_sources CONFIGURE_DEPENDS ${web}/waiting/*.ts ${web}/waiting/*.css ${web}/waiting/*.html
     ${web}/waiting/*.svg)
list(FILTER waiting_sources EXCLUDE REGEX "/tests/")
set(page_templates ${CMAKE_CURRENT_BINARY_DIR}/page_templates.cpp)
add_custom_command(
  OUTPUT ${page_templates}
  COMMAND ${NPM} run --silent build -- ${page_templates}
  DEPENDS ${web_packages} ${web}/embed.ts ${waiting_sources}
  WORKING_DIRECTORY ${web}
  COMMENT "Building the visitor's pages")

file(GLOB_RECURSE console_sources CONFIGURE_DEPENDS ${web}/console/*.ts ${web}/console/*.tsx ${web}/console/*.css ${web}/console/*.html)
list(FILTER console_sources EXCLUDE REGEX "/tests/")
set(console_page ${CMAKE_CURRENT_BINARY_DIR}/console_page.cpp)
add_custom_command(
  OUTPUT ${console_page}
  COMMAND ${NPM} run --silent build:console -- ${console_page}
  DEPENDS ${web_packages} ${web}/embed.ts ${console_sources}
  WORKING_DIRECTORY ${web}
  COMMENT "Building the console")

file(GLOB page_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/page/*.cpp)
add_library(fairway_page STATIC ${page_sources} ${page_templates} ${console_page})
target_include_directories(fairway_page PUBLIC ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(fairway_page PRIVATE fairway_warnings)
# One long string: -Wpedantic names the shortest length that every compiler must take, not what ours do.
set_source_files_properties(${console_page} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
